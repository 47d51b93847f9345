import { hash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import type { Extension } from '../extension.js';
import { extensions as installedExtensions } from '../extensions.js';
import { migrationsOf } from '../migrations/migrations.js';
import { readEnv } from '../platform/config/env.js';
import { type Migration, migrationDataSource } from '../platform/database/data-source.js';
import { migrate } from '../platform/database/schema.js';

/** As many as a Redis has by default, without the first, which holds the claims. */
const REDIS_DATABASES = 15;
/** A test file that was killed releases nothing: its database is free again after this time. */
const CLAIM_SECONDS = 900;
/** Time for a new connection to Postgres: a busy machine takes longer than a request of a service should wait. */
const CONNECT_SECONDS = '30';
/** Held while a template is created: test files that run at the same time create it once. */
const TEMPLATE_LOCK = 4711;
/** Longer than the service takes to stop with transcriptions in progress, shorter than a hook of jest may take. */
const STEP_MS = 45_000;

interface Servers {
  /** The user of this URL may create databases. */
  databaseUrl: string;
  redisUrl: string;
}

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

type Hook = (work: () => Promise<void>) => void;
const hooks = globalThis as unknown as { beforeAll: Hook; afterAll: Hook };

/** The global hooks of Jest. Read when they are called, so that this file can be imported without Jest. */
export const beforeAll: Hook = (work) => hooks.beforeAll(work);
const afterAll: Hook = (work) => hooks.afterAll(work);

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

/**
 * The servers of TEST_DATABASE_URL and TEST_REDIS_URL, which `npm test` sets for all test files. Without them a
 * PostgreSQL and a Redis are started for this environment alone. DATABASE_URL is not used: tests clear what they find.
 */
async function privateServices(cleanup: Cleanup): Promise<Servers> {
  const { TEST_DATABASE_URL: databaseUrl, TEST_REDIS_URL: redisUrl } = process.env;
  if (databaseUrl && redisUrl) return { databaseUrl, redisUrl };
  const { startTemporaryServices } = await import('../../scripts/lib/temporary-services.mjs');
  const { env, stop } = await startTemporaryServices();
  cleanup.add(stop);
  return { databaseUrl: env.DATABASE_URL, redisUrl: env.REDIS_URL };
}

/** Closes what a test opened: the latest first, each step with a time limit, and every step whatever the others do. */
export class Cleanup {
  private readonly steps: (() => unknown)[] = [];

  add(step: () => unknown): void {
    this.steps.push(step);
  }

  /** @throws AggregateError of the steps that failed. */
  async run(): Promise<void> {
    const problems: unknown[] = [];
    for (const step of this.steps.splice(0).toReversed()) {
      await withinLimit(step).catch((error: unknown) => problems.push(error));
    }
    if (problems.length > 0) throw new AggregateError(problems, `cleanup failed: ${problems.map(String).join('; ')}`);
  }
}

async function withinLimit(step: () => unknown): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`a step took longer than ${STEP_MS} ms: ${String(step)}`)), STEP_MS);
  });
  try {
    await Promise.race([(async () => step())(), limit]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A database to which these migrations were applied, to be copied. Its name contains a hash of their names, because
 * tests with other extensions need another schema.
 * @param environmentOf the service's environment variables for a database.
 */
async function templateDatabase(
  admin: Client,
  migrations: Migration[],
  environmentOf: (database: string) => Record<string, string>,
): Promise<string> {
  const names = migrations.map(({ name }) => name).join('\n');
  const template = `template_${hash('sha256', names, 'hex').slice(0, 16)}`;
  const unfinished = `${template}_unfinished`;
  await admin.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
  try {
    const { rowCount } = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [template]);
    if (rowCount) return template;
    await admin.query(`DROP DATABASE IF EXISTS ${unfinished} WITH (FORCE)`);
    await admin.query(`CREATE DATABASE ${unfinished}`);
    await applyMigrations(environmentOf(unfinished), migrations);
    await admin.query(`ALTER DATABASE ${unfinished} RENAME TO ${template}`);
    return template;
  } finally {
    await admin.query('SELECT pg_advisory_unlock($1)', [TEMPLATE_LOCK]);
  }
}

async function applyMigrations(variables: Record<string, string>, migrations: Migration[]): Promise<void> {
  const dataSource = await migrationDataSource(readEnv(variables), migrations).initialize();
  try {
    await migrate(dataSource);
  } finally {
    await dataSource.destroy();
  }
}
