import { type DestinationStream, pino, type Logger } from 'pino';
import type { Env } from '../config/env.js';

/** Lines are written together, as soon as there are so many bytes of them, or after so long. */
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

/** Standard output, written to in the background, and to the end when the process exits. */
export const standardOutput = (): DestinationStream => pino.destination({ dest: 1, sync: false, ...BATCH });

/** Errors of the database carry the query and its parameters, which may be secrets or what somebody said. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack } = error;
  const code = 'code' in error ? error.code : undefined;
  const cause = error.cause === undefined ? undefined : describeError(error.cause);
  return { type: name, message, code, stack, cause };
}
