import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import helmet from 'helmet';
import { Registry } from 'prom-client';
import { provideActing } from './access/acting.js';
import { AppModule } from './app.module.js';
import { serveOpenApi } from './app.openapi.js';
import type { Extension } from './extension.js';
import { OptionsMiddleware } from './guards/options.middleware.js';
import { RequestErrorsService } from './modules/account/request-errors.service.js';
import { ThreadPoolService } from './platform/concurrency/thread-pool.service.js';
import { Env } from './platform/config/env.js';
import { ErrorFilter } from './platform/errors/error.filter.js';
import { UnknownPathError } from './platform/errors/errors.js';
import { provideJsonBody } from './platform/http/input/json-body.js';
import { RequestValidationPipe } from './platform/http/input/request-validation.pipe.js';
import { BoundedExpressAdapter } from './platform/http/server/express.adapter.js';
import { Egress } from './platform/http/outgoing/egress.js';
import { isApiRequest, validateRequestLine } from './platform/http/server/request-line.js';
import { addConnectionMetrics, MetricsMiddleware } from './platform/observability/metrics.js';
import { RequestLogMiddleware } from './platform/observability/request-log.middleware.js';
import { StructuredLoggerService } from './platform/observability/structured-logger.service.js';
import { traceRequests } from './platform/observability/traces/trace.middleware.js';
import { traces } from './platform/observability/traces/traces.js';

/** The service, ready to listen. Bodies are read after the guards, so there is no global body parser. */
export async function createApp(env: Env, extensions: Extension[]): Promise<NestExpressApplication> {
  await Egress.of(env).checkSources();
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.register(env, extensions),
    new BoundedExpressAdapter(env),
    // serve.ts flushes the logs once the service listens: a start that fails prints its error and nothing else.
    { bodyParser: false, bufferLogs: true, autoFlushLogs: false, abortOnError: false },
  );
  app.useLogger(app.get(StructuredLoggerService));
  warnOfSettings(env);
  return configureApp(app);
}

function warnOfSettings({ trustProxy, metricsToken }: Env): void {
  if (trustProxy === false || metricsToken !== null) return;
  new Logger('Settings').warn(
    'TRUST_PROXY is set without METRICS_TOKEN; set it to let Prometheus scrape through the network',
  );
}

/** What the service and its tests share: everything that a request passes before the guards, in order. */
export function configureApp(app: NestExpressApplication): NestExpressApplication {
  const env = app.get(Env);
  const [log, metrics, options] = [
    app.get(RequestLogMiddleware),
    app.get(MetricsMiddleware),
    app.get(OptionsMiddleware),
  ];
  const adapter = app.getHttpAdapter();
  if (adapter instanceof BoundedExpressAdapter) addConnectionMetrics(app.get(Registry), adapter.limiter);
  app.get(Registry).registerMetric(Egress.of(env).failures);
  if (traces.isOn) app.use(traceRequests);
  app.use(log.use.bind(log));
  app.use(metrics.use.bind(metrics));
  app.use(securityHeaders);
  if (!env.roles.includes('api')) app.use(refuseApi);
  app.use(forbidCaching);
  app.use(options.use.bind(options));
  app.use(validateRequestLine);
  if (env.corsOrigins.length > 0) allowOrigins(app, env.corsOrigins);
  app.use(options.answer.bind(options));
  app.use(provideActing);
  app.use(provideJsonBody(app.get(ThreadPoolService)));
  const errors = app.get(RequestErrorsService);
  app.useGlobalFilters(new ErrorFilter((request, error) => errors.record(request, error)));
  app.useGlobalPipes(new RequestValidationPipe());
  if (env.roles.includes('api')) serveOpenApi(app);
  return app;
}

/** Behind plain HTTP, as in a private network, a page that upgrades its own requests would not load. */
const securityHeaders = helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } } });

/** A process without the role `api` serves its health and metrics only (D31). */
function refuseApi(request: Request, _response: Response, next: NextFunction): void {
  const served = /^\/(health\/|metrics$)/.test(request.path);
  next(
    served
      ? undefined
      : new UnknownPathError('No such path. This process is a worker and serves /health and /metrics only.'),
  );
}

/** Responses hold transcripts and, sometimes, secrets. */
function forbidCaching(request: Request, response: Response, next: NextFunction): void {
  if (isApiRequest(request)) response.setHeader('Cache-Control', 'no-store');
  next();
}

function allowOrigins(app: NestExpressApplication, origins: readonly string[]): void {
  app.enableCors({
    origin: [...origins],
    allowedHeaders: [
      'Authorization',
      'Content-Type',
      'Idempotency-Key',
      'If-Match',
      'If-None-Match',
      'If-Range',
      'Range',
      'Last-Event-ID',
      'MCP-Protocol-Version',
      'Mcp-Method',
      'Mcp-Name',
      'X-Request-Id',
      'X-Service-API-Key',
      'X-Service-API-Secret',
      'X-Upload-Source',
    ],
    exposedHeaders: [
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
      'Retry-After',
      'Location',
      'ETag',
      'Accept-Ranges',
      'Content-Range',
      'Content-Disposition',
      'X-Request-Id',
      'X-Service-Scopes',
      'Idempotent-Replayed',
      'X-Recording-Id',
      'X-Transcription-Engine',
      'Transcription-Version',
    ],
    maxAge: 600,
  });
}
