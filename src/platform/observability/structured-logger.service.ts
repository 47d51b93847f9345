import { Injectable, type LoggerService } from '@nestjs/common';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Env } from '../config/env.js';
import { traces } from './traces/traces.js';

type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

/**
 * Nest's logger on pino: `new Logger(Some.name).warn({ err, recording_id }, 'what happened')`. nestjs-pino is not used,
 * because its async context costs every request; callers add the request id where it is needed.
 */
@Injectable()
export class StructuredLoggerService implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.write('info', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  /** @param rest a text or Nest's stack of an error, and last the name of the logger. */
  private write(level: Level, message: unknown, rest: unknown[]): void {
    const texts = rest.filter((part) => typeof part === 'string');
    const context = texts.pop();
    if (message instanceof Error) this.logger[level]({ context, err: message }, texts[0]);
    else if (typeof message === 'object') this.logger[level]({ context, ...message }, texts[0]);
    else this.logger[level]({ context, stack: texts[0] }, message as string);
  }
}

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
      ...(traces.isOn && { mixin: () => traces.fields() }),
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
