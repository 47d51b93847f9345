import { Injectable, type LoggerService } from '@nestjs/common';
import type { Logger } from 'pino';

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
