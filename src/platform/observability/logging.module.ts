import { type DynamicModule, Module } from '@nestjs/common';
import { LoggerModule } from 'nestjs-pino';
import type { HttpLogger } from 'pino-http';
import type { Env } from '../config/env.js';
import { createHttpLogger, createLogger } from './logger.js';

/** Logs one line for each request. Runs first of all, so that what fails early is logged too. */
export const HTTP_LOGGER = Symbol('HTTP_LOGGER');

@Module({})
export class LoggingModule {
  static for(env: Env): DynamicModule {
    const httpLogger: HttpLogger = createHttpLogger(createLogger(env));
    return {
      module: LoggingModule,
      global: true,
      imports: [
        // Without the last line nestjs-pino would put its own way of writing errors, parameters of queries included, in the place of ours.
        LoggerModule.forRoot({ pinoHttp: { logger: httpLogger.logger, wrapSerializers: false }, useExisting: true }),
      ],
      providers: [{ provide: HTTP_LOGGER, useValue: httpLogger }],
      exports: [HTTP_LOGGER],
    };
  }
}
