import { HttpStatus } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import helmet from 'helmet';
import { Gate } from './guards/gate.middleware.js';
import { Env } from './platform/config/env.js';
import { NotFoundError } from './platform/errors/errors.js';
import { ErrorFilter } from './platform/http/error.filter.js';
import { JsonBodyInterceptor } from './platform/http/json-body.interceptor.js';
import { serveOpenApi } from './platform/http/openapi.js';
import { requireSoundness } from './platform/http/request-target.js';
import { ValidationPipe } from './platform/http/validation.pipe.js';
import { HTTP_LOGGER } from './platform/observability/logging.module.js';
import { Metrics } from './platform/observability/metrics.js';

/** What `main.ts` and the tests share: the way of a request up to its handler, in order. */
export function setUp(app: NestExpressApplication): NestExpressApplication {
  const env = app.get(Env);
  const metrics = app.get(Metrics);
  const gate = app.get(Gate);
  app.use(app.get<RequestHandler>(HTTP_LOGGER));
  app.use((request: Request, response: Response, next: NextFunction) => metrics.use(request, response, next));
  // Behind plain HTTP, as in a private network, a page that upgrades its own requests would not load.
  app.use(helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } } }));
  if (!env.roles.includes('api')) app.use(refuseBusiness);
  app.use((request: Request, response: Response, next: NextFunction) => gate.pass(request, response, next));
  app.use(requireSoundness);
  if (env.corsOrigins.length > 0) allowOrigins(app, env.corsOrigins);
  app.use(answerOptions);
  app.useGlobalFilters(new ErrorFilter());
  app.useGlobalInterceptors(new JsonBodyInterceptor());
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
