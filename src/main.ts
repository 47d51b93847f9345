/** Starts the roles that ROLES names and serves until it is asked to stop. */
import { createApp } from './app.js';
import { readEnv } from './platform/config/env.js';

/** Longer than an orderly stop takes; a second signal does not even wait for this. */
const STOP_MS = 10_000;

try {
  const env = readEnv(process.env);
  const app = await createApp(env);
  await app.listen(env.port, env.host);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      process.once(signal, () => process.exit(1));
      setTimeout(() => process.exit(1), STOP_MS).unref();
    });
  }
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exit(1);
}
