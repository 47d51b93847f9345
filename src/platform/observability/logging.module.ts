import { type DynamicModule, Module } from '@nestjs/common';
import type { Env } from '../config/env.js';
import { createLogger, standardOutput } from './logger.js';
import { RequestLog } from './request-log.js';
import { StructuredLogger } from './structured-logger.js';

@Module({})
export class LoggingModule {
  static for(env: Env): DynamicModule {
    const destination = standardOutput();
    const logger = createLogger(env, destination);
    const [logsAnswers, logsFailures] = [logger.isLevelEnabled('info'), logger.isLevelEnabled('error')];
    return {
      module: LoggingModule,
      global: true,
      providers: [
        { provide: StructuredLogger, useValue: new StructuredLogger(logger) },
        { provide: RequestLog, useValue: new RequestLog({ destination, logsAnswers, logsFailures }) },
      ],
      exports: [RequestLog],
    };
  }
}
