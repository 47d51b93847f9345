import { type DynamicModule, Module } from '@nestjs/common';
import type { Env } from '../config/env.js';
import { createHttpLogger, createLogger } from './logger.js';
import { StructuredLogger } from './structured-logger.js';

/** Logs one line for each request. Runs first of all, so that what fails early is logged too. */
export const HTTP_LOGGER = Symbol('HTTP_LOGGER');

@Module({})
export class LoggingModule {
  static for(env: Env): DynamicModule {
    const logger = createLogger(env);
    return {
      module: LoggingModule,
      global: true,
      providers: [
        { provide: StructuredLogger, useValue: new StructuredLogger(logger) },
        { provide: HTTP_LOGGER, useValue: createHttpLogger(logger) },
      ],
      exports: [HTTP_LOGGER],
    };
  }
}
