import { type DestinationStream, pino, type Logger } from 'pino';
import type { Env } from '../config/env.js';

/** Lines are written together: after 4096 bytes or 100 ms. */
const BATCH = { minLength: 4096, periodicFlush: 100, maxLength: 16 * 1024 * 1024 };

/** JSON lines. */
export function createLogger(env: Env, destination: DestinationStream): Logger {
  return pino(
    {
      level: env.logLevel,
      base: { pid: process.pid },
      formatters: { level: (level: string) => ({ level }) },
      serializers: { err: describeError },
    },
    destination,
  );
}

/** Standard output, written asynchronously and flushed at exit. */
export const standardOutput = (): DestinationStream => pino.destination({ dest: 1, sync: false, ...BATCH });

/** Standard error, written at once: for commands, which end soon. */
export const standardError = (): DestinationStream => pino.destination({ dest: 2, sync: true });

/** Without the query and parameters of database errors, which may hold secrets or transcripts. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack } = error;
  const code = 'code' in error ? error.code : undefined;
  const cause = error.cause === undefined ? undefined : describeError(error.cause);
  return { type: name, message, code, stack, cause };
}
