import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module.js';
import { setUp } from './app.setup.js';
import { extensions } from './extensions.js';
import type { Env } from './platform/config/env.js';
import { BoundedExpressAdapter } from './platform/http/express.adapter.js';
import { StructuredLogger } from './platform/observability/structured-logger.js';

/** The service, ready to listen. Bodies are read after the guards, so there is no global parser. */
export async function createApp(env: Env): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.for(env, extensions),
    new BoundedExpressAdapter(env),
    { bodyParser: false, bufferLogs: true, abortOnError: false },
  );
  app.useLogger(app.get(StructuredLogger));
  return setUp(app);
}
