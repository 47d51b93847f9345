import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { AppModule } from '../../../src/app.module.js';
import { configureApp } from '../../../src/app.setup.js';
import type { Extension } from '../../../src/extension.js';
import { AccountService } from '../../../src/modules/account/account.service.js';
import type { Plan } from '../../../src/modules/account/plans.js';
import { ApiKeysService } from '../../../src/modules/api-keys/api-keys.service.js';
import { SCOPES, type Scope } from '../../../src/access/scopes.js';
import { readEnv } from '../../../src/platform/config/env.js';
import { migrationsOf } from '../../../src/migrations/migrations.js';
import { migrationDataSource } from '../../../src/platform/database/data-source.js';
import { DatabaseService } from '../../../src/platform/database/database.service.js';
import { migrate } from '../../../src/platform/database/schema.js';
import { BoundedExpressAdapter } from '../../../src/platform/http/server/express.adapter.js';
import { Caller } from '../http/api-client.js';

/** What one test file works with: a database, a Redis database and a storage folder of its own. */
export interface Ground {
  /** For `readEnv`, or for a child process. */
  environment: Record<string, string>;
  clear(): Promise<void>;
}

/** The whole service in this process, listening, on real Postgres, Redis, ffmpeg and the real engine. */
export interface Service {
  app: NestExpressApplication;
  url: string;
  database: DatabaseService;
  /** A new account with one key that holds every scope. Enterprise by default, so that limits are out of the way. */
  account(plan?: Plan): Promise<Caller>;
  /** A further key of the same account. */
  key(caller: Caller, scopes: Scope[]): Promise<Caller>;
  close(): Promise<void>;
}

const MIGRATION_LOCK = 4711;

/** Two test files at the same time make the template once. */
async function migratedTemplate(admin: Client, url: URL): Promise<string> {
  const template = 'voice_notes_template';
  await admin.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
  try {
    const { rowCount } = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [template]);
    if (rowCount) return template;
    await admin.query(`CREATE DATABASE ${template}_new`);
    const env = readEnv(environmentOf(new URL(`/${template}_new`, url), 'redis://unused', '/unused'));
    const dataSource = await migrationDataSource(env, migrationsOf([])).initialize();
    await migrate(dataSource);
    await dataSource.destroy();
    await admin.query(`ALTER DATABASE ${template}_new RENAME TO ${template}`);
    return template;
  } finally {
    await admin.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
  }
}

export async function prepareGround(): Promise<Ground> {
  const databaseUrl = new URL(required('DATABASE_URL'));
  const redisUrl = new URL(`/${process.env.JEST_WORKER_ID ?? '1'}`, required('REDIS_URL')).href;
  const admin = new Client({ connectionString: databaseUrl.href });
  await admin.connect();
  const template = await migratedTemplate(admin, databaseUrl);
  const name = `test_${randomBytes(6).toString('hex')}`;
  await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  const redis = new Redis(redisUrl);
  await redis.flushdb();
  redis.disconnect();
  const folder = await mkdtemp(join(tmpdir(), 'voice-notes-test-'));
  return {
    environment: environmentOf(new URL(`/${name}`, databaseUrl), redisUrl, folder),
    clear: async () => {
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function environmentOf(databaseUrl: URL, redisUrl: string, folder: string): Record<string, string> {
  return {
    NODE_ENV: 'test',
    DATABASE_URL: databaseUrl.href,
    REDIS_URL: redisUrl,
    SECRET_KEY: 'a secret key of at least 32 characters, for tests',
    STORAGE_DIR: folder,
    HOST: '127.0.0.1',
    PORT: '0',
    TRANSCRIPTION_ENGINE: 'pocketsphinx',
    RECONCILE_SECONDS: '1',
    ADDRESS_RATE_LIMIT: '100000/100000',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8,::1/128',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
  };
}

/** @param overrides environment variables that this test wants otherwise. */
export async function startService(
  ground: Ground,
  overrides: Record<string, string> = {},
  extensions: Extension[] = [],
): Promise<Service> {
  const env = readEnv({ ...ground.environment, ...overrides });
  const module = await Test.createTestingModule({ imports: [AppModule.for(env, extensions)] }).compile();
  const app = module.createNestApplication<NestExpressApplication>(new BoundedExpressAdapter(env), {
    bodyParser: false,
    logger: false,
  });
  await configureApp(app).listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    app,
    url,
    database: app.get(DatabaseService),
    account: async (plan = 'enterprise') => {
      const limits = { rateLimit: null, burstLimit: null };
      const name = `Account ${randomUUID()}`;
      const { id } = await app.get(AccountService).create({ name, email: 'test@example.com', plan, ...limits });
      return await makeKey(app, url, id, [...SCOPES]);
    },
    key: (caller, scopes) => makeKey(app, url, caller.accountId, scopes),
    close: () => app.close(),
  };
}

async function makeKey(app: NestExpressApplication, url: string, accountId: string, scopes: Scope[]): Promise<Caller> {
  const { key, secret } = await app.get(ApiKeysService).create(accountId, SCOPES, { name: 'Test key', scopes });
  return new Caller(url, accountId, { id: key.id, key: key.key, secret });
}

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is missing: start the tests with "npm test", which brings its own services.`);
  return value;
}
