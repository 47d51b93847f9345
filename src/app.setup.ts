import { HttpStatus } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import { Gate } from './guards/gate.middleware.js';
import { Env } from './platform/config/env.js';
import { NotFoundError } from './platform/errors/errors.js';
import { ErrorFilter } from './platform/http/error.filter.js';
import { serveOpenApi } from './platform/http/openapi.js';
import { requireSoundness } from './platform/http/request-target.js';
import { securityHeaders } from './platform/http/security-headers.js';
import { ValidationPipe } from './platform/http/validation.pipe.js';
import { Metrics } from './platform/observability/metrics.js';
import { RequestLog } from './platform/observability/request-log.js';

/** What `main.ts` and the tests share: the way of a request up to its handler, in order. */
export function setUp(app: NestExpressApplication): NestExpressApplication {
  const env = app.get(Env);
  const [log, metrics, gate] = [app.get(RequestLog), app.get(Metrics), app.get(Gate)];
  app.use(log.use.bind(log));
  app.use(metrics.use.bind(metrics));
  app.use(securityHeaders());
  if (!env.roles.includes('api')) app.use(refuseBusiness);
  app.use(gate.use.bind(gate));
  app.use(requireSoundness);
  if (env.corsOrigins.length > 0) allowOrigins(app, env.corsOrigins);
  app.use(answerOptions);
  app.useGlobalFilters(new ErrorFilter());
  app.useGlobalPipes(new ValidationPipe());
  if (env.roles.includes('api')) serveOpenApi(app);
  return app;
}

/** A worker answers for its health and its figures and for nothing else (D31). */
function refuseBusiness(request: Request, _response: Response, next: NextFunction): void {
  next(/^\/(health\/|metrics$)/.test(request.path) ? undefined : new NotFoundError('path'));
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
