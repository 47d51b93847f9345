import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import type { Extension } from '../extension.js';
import { extensions as installedExtensions } from '../extensions.js';
import { migrationsOf } from '../migrations/migrations.js';
import { Cleanup } from './cleanup.js';
import { privateServices, type Servers } from './private-services.js';
import { templateDatabase } from './template-database.js';
import { afterAll, beforeAll } from './test-hooks.js';

/** As many as a Redis has by default, without the first, which holds the claims. */
const REDIS_DATABASES = 15;
/** A test file that was killed releases nothing: its database is free again after this time. */
const CLAIM_SECONDS = 900;
/** Time for a new connection to Postgres: a busy machine takes longer than a request of a service should wait. */
const CONNECT_SECONDS = '30';

/** What one test file works with: a database, a Redis database and a storage folder of its own. */
export class TestEnvironment {
  /** Environment variables of the service. Filled by `open`. */
  readonly variables: Record<string, string> = {};
  /** Those of `src/extensions.ts`, and those that the test adds. */
  readonly extensions: Extension[];
  private readonly cleanup = new Cleanup();

  constructor(addedExtensions: Extension[] = []) {
    this.extensions = [...new Set([...installedExtensions, ...addedExtensions])];
  }

  async open(): Promise<void> {
    const servers = await privateServices(this.cleanup);
    const [databaseUrl, redisUrl] = [await this.createDatabase(servers), await this.claimRedis(servers)];
    Object.assign(this.variables, variablesOf(databaseUrl, redisUrl));
    const folder = await mkdtemp(join(tmpdir(), 'voice-notes-test-'));
    this.defer(() => rm(folder, { recursive: true, force: true }));
    this.variables.STORAGE_DIR = folder;
  }

  /** Registers a step that runs when the environment is closed, before those that were registered earlier. */
  defer(step: () => unknown): void {
    this.cleanup.add(step);
  }

  close(): Promise<void> {
    return this.cleanup.run();
  }

  private async createDatabase({ databaseUrl }: Servers): Promise<string> {
    const urlOf = (database: string) => {
      const url = new URL(`/${database}`, databaseUrl);
      url.searchParams.set('connect_timeout', CONNECT_SECONDS);
      return url.href;
    };
    const admin = new Client({ connectionString: databaseUrl });
    await admin.connect();
    this.defer(() => admin.end());
    const template = await templateDatabase(admin, migrationsOf(this.extensions), (database) => ({
      ...variablesOf(urlOf(database), 'redis://unused'),
      STORAGE_DIR: '/unused',
    }));
    const name = `test_${randomBytes(6).toString('hex')}`;
    await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
    this.defer(() => admin.query(`DROP DATABASE ${name} WITH (FORCE)`));
    return urlOf(name);
  }

  /** Numbers of Redis databases are claimed, because several test runners share one Redis. */
  private async claimRedis({ redisUrl }: Servers): Promise<string> {
    const redis = new Redis(redisUrl);
    this.defer(() => redis.disconnect());
    for (let number = 1; number <= REDIS_DATABASES; number++) {
      const key = `test-database:${number}`;
      if (!(await redis.set(key, process.pid, 'EX', CLAIM_SECONDS, 'NX'))) continue;
      this.defer(() => redis.del(key));
      await redis.pipeline().select(number).flushdb().select(0).exec();
      return new URL(`/${number}`, redisUrl).href;
    }
    throw new Error(`all ${REDIS_DATABASES} Redis databases are in use`);
  }
}

/** An environment for the tests of this file or `describe` block, with hooks of Jest that open and close it. */
export function useEnvironment(addedExtensions: Extension[] = []): TestEnvironment {
  const environment = new TestEnvironment(addedExtensions);
  beforeAll(() => environment.open());
  afterAll(() => environment.close());
  return environment;
}

function variablesOf(databaseUrl: string, redisUrl: string): Record<string, string> {
  return {
    NODE_ENV: 'test',
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    SECRET_KEY: 'a secret key of at least 32 characters, for tests',
    HOST: '127.0.0.1',
    PORT: '0',
    TRANSCRIPTION_ENGINE: 'pocketsphinx',
    RECONCILE_SECONDS: '1',
    ADDRESS_RATE_LIMIT: '100000/100000',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8,::1/128',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
  };
}
