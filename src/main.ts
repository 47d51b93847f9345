/** Starts the roles that ROLES names and serves until it is asked to stop. */
import { createApp } from './app.setup.js';
import { type Env, readEnv } from './platform/config/env.js';
import { connectionErrorMessage } from './platform/database/connection-error.js';

/** An orderly stop takes less; what takes longer is picked up by others. A second signal does not wait at all. */
const STOP_MS = 10_000;

let env: Env | undefined;
try {
  env = readEnv(process.env);
  const app = await createApp(env);
  let stopping = false;
  const stop = (): void => {
    if (stopping) process.exit(1);
    stopping = true;
    setTimeout(() => process.exit(1), STOP_MS).unref();
    void app.close().then(
      // 0, unless the process ends because something was wrong with it.
      () => process.exit(),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
  await app.listen(env.port, env.host);
} catch (error) {
  const unreachable = env ? connectionErrorMessage(error, env.databaseUrl) : null;
  process.stderr.write(`${unreachable ?? (error as Error).message}\n`);
  process.exit(1);
}
