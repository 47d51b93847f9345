import { HttpStatus } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import { AppModule } from './app.module.js';
import { serveOpenApi } from './app.openapi.js';
import { extensions } from './extensions.js';
import { Gate } from './guards/gate.middleware.js';
import { Env } from './platform/config/env.js';
import { UnknownPathError } from './platform/errors/errors.js';
import { ErrorFilter } from './platform/http/output/error.filter.js';
import { validateRequestLine } from './platform/http/server/request-line.js';
import { BoundedExpressAdapter } from './platform/http/server/express.adapter.js';
import { securityHeaders } from './platform/http/server/security-headers.js';
import { RequestValidationPipe } from './platform/http/input/request-validation.pipe.js';
import { MetricsMiddleware } from './platform/observability/metrics.middleware.js';
import { RequestLogMiddleware } from './platform/observability/request-log.middleware.js';
import { StructuredLoggerService } from './platform/observability/structured-logger.service.js';

/** The service, ready to listen. Bodies are read after the guards, so there is no global parser. */
export async function createApp(env: Env): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.for(env, extensions),
    new BoundedExpressAdapter(env),
    { bodyParser: false, bufferLogs: true, abortOnError: false },
  );
  app.useLogger(app.get(StructuredLoggerService));
  return configureApp(app);
}

/** What `main.ts` and the tests share: the way of a request up to its handler, in order. */
export function configureApp(app: NestExpressApplication): NestExpressApplication {
  const env = app.get(Env);
  const [log, metrics, gate] = [app.get(RequestLogMiddleware), app.get(MetricsMiddleware), app.get(Gate)];
  app.use(log.use.bind(log));
  app.use(metrics.use.bind(metrics));
  app.use(securityHeaders());
  if (!env.roles.includes('api')) app.use(refuseBusiness);
  app.use(gate.use.bind(gate));
  app.use(validateRequestLine);
  if (env.corsOrigins.length > 0) allowOrigins(app, env.corsOrigins);
  app.use(answerOptions);
  app.useGlobalFilters(new ErrorFilter());
  app.useGlobalPipes(new RequestValidationPipe());
  if (env.roles.includes('api')) serveOpenApi(app);
  return app;
}

/** A worker answers for its health and its figures and for nothing else (D31). */
function refuseBusiness(request: Request, _response: Response, next: NextFunction): void {
  const served = /^\/(health\/|metrics$)/.test(request.path);
  next(
    served
      ? undefined
      : new UnknownPathError('No such path. This process is a worker and serves /health and /metrics only.'),
  );
}

/** What CORS has not answered; no credentials are needed to ask (D6). */
function answerOptions(request: Request, response: Response, next: NextFunction): void {
  if (request.method === 'OPTIONS') response.status(HttpStatus.NO_CONTENT).end();
  else next();
}

function allowOrigins(app: NestExpressApplication, origins: readonly string[]): void {
  app.enableCors({
    origin: [...origins],
    allowedHeaders: [
      'Authorization',
      'Content-Type',
      'Idempotency-Key',
      'X-Request-Id',
      'X-Service-API-Key',
      'X-Service-API-Secret',
    ],
    exposedHeaders: [
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
      'Retry-After',
      'Location',
      'X-Request-Id',
      'Idempotent-Replayed',
    ],
    maxAge: 600,
  });
}
