import { type DynamicModule, Module } from '@nestjs/common';
import type { Env } from '../config/env.js';
import { createLogger, standardOutput, StructuredLoggerService } from './structured-logger.service.js';
import { RequestLogMiddleware } from './request-log.middleware.js';
import { SecurityLogService } from './security-log.service.js';

@Module({})
export class LoggingModule {
  static forRoot(env: Env): DynamicModule {
    const destination = standardOutput();
    const logger = createLogger(env, destination);
    const [logsAnswers, logsFailures] = [logger.isLevelEnabled('info'), logger.isLevelEnabled('error')];
    return {
      module: LoggingModule,
      global: true,
      providers: [
        { provide: StructuredLoggerService, useValue: new StructuredLoggerService(logger) },
        { provide: SecurityLogService, useValue: new SecurityLogService(logger) },
        {
          provide: RequestLogMiddleware,
          useValue: new RequestLogMiddleware({ destination, logsAnswers, logsFailures }),
        },
      ],
      exports: [RequestLogMiddleware, SecurityLogService],
    };
  }
}
