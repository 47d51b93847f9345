/** Writes the description of the API to standard output, for `npm run openapi`. Needs no database. */
import { NestFactory } from '@nestjs/core';
import { AppModule } from '../app.module.js';
import { describeApi } from '../app.openapi.js';
import { readEnv } from '../platform/config/env.js';

const env = readEnv({
  NODE_ENV: 'development',
  DATABASE_URL: 'postgres://unused',
  REDIS_URL: 'redis://unused',
  SECRET_KEY: 'not used for anything, but long enough',
});
// A preview only looks at the classes and makes no instance of them.
const app = await NestFactory.create(AppModule.register(env, []), { preview: true, logger: false });
process.stdout.write(`${JSON.stringify(describeApi(app), null, 2)}\n`);
