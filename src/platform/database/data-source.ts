import pg, { Client, type ClientConfig } from 'pg';
import { DataSource, type DataSourceOptions, DefaultNamingStrategy, type MigrationInterface } from 'typeorm';
import type { Env } from '../config/env.js';
import { traces } from '../observability/traces/traces.js';
import { snakeCase } from './statement-parts.js';
import { inOperatorsWords, isQueryTimeout } from './unavailable.js';

export type Migration = new () => MigrationInterface;

/** Longer than any statement of the service needs. A request on a lost connection waits no longer than this. */
const STATEMENT_TIMEOUT_MS = 15_000;
/** A request without a connection by then is answered 503, within 2 s in all. */
const CONNECT_TIMEOUT_MS = 1500;

/** A column is named after its property, in snake_case. */
class SnakeCase extends DefaultNamingStrategy {
  override columnName(property: string, custom: string, prefixes: string[]): string {
    return snakeCase([...prefixes, custom || property].join('_'));
  }
}

/** How long a migration waits for a table before it tries again. Requests queue behind it meanwhile. */
const MIGRATION_LOCK_TIMEOUT_MS = 100;

/** @param limits `statementTimeoutMs` is 0 for commands, whose statements may read every row of a large database. */
export function dataSourceOptions(
  env: Env,
  migrations: Migration[],
  { statementTimeoutMs = STATEMENT_TIMEOUT_MS } = {},
): Extract<DataSourceOptions, { type: 'postgres' }> {
  const limits = { statement_timeout: statementTimeoutMs, idle_in_transaction_session_timeout: 60_000 };
  return {
    type: 'postgres',
    // Else TypeORM loads it by a name that it computes, which no bundle can hold.
    driver: pg,
    url: env.databaseUrl,
    namingStrategy: new SnakeCase(),
    migrations,
    migrationsTransactionMode: 'each',
    logging: false,
    applicationName: 'voice-notes',
    extra: {
      Client: WatchedClient,
      max: env.poolSize,
      connectionTimeoutMillis: connectTimeoutMs(env.databaseUrl),
      query_timeout: statementTimeoutMs && statementTimeoutMs + 1000,
      keepAlive: true,
      preparedStatements: env.databasePreparedStatements,
      ...(env.databasePooler ? pooledSettings(limits) : { ...limits, options: '-c timezone=UTC' }),
    },
  };
}

/** A pooler refuses settings at the start of a connection. PgBouncer keeps the time zone of each client itself. */
const pooledSettings = (limits: Record<string, number>): object => ({
  transactionSettings: limits,
  onConnect: (client: pg.ClientBase) => client.query(`SET timezone = 'UTC'`),
});

/** How long to wait for a connection, a new one or one that others use. The parameter is that of libpq, in seconds. */
function connectTimeoutMs(databaseUrl: string): number {
  const seconds = new URL(databaseUrl).searchParams.get('connect_timeout');
  return seconds === null ? CONNECT_TIMEOUT_MS : Number(seconds) * 1000;
}

/**
 * A data source for commands that change the schema: no entities, and no time limit on statements. Outside transactions a
 * pooler keeps the limit of the role, which ends the building of a large index.
 */
export function migrationDataSource(
  env: Env,
  migrations: Migration[],
  { lockTimeoutMs = MIGRATION_LOCK_TIMEOUT_MS } = {},
): DataSource {
  const transactionSettings = { lock_timeout: lockTimeoutMs, statement_timeout: 0 };
  const session = env.databasePooler ? {} : { options: '-c timezone=UTC -c statement_timeout=0' };
  const extra = { Client: WatchedClient, connectionTimeoutMillis: 10_000, max: 2, transactionSettings, ...session };
  // Not the console, where each attempt that met a lock would be a failure.
  return new DataSource({
    ...dataSourceOptions(env, migrations),
    logger: 'debug',
    applicationName: 'voice-notes-migrate',
    extra,
  });
}

/** Runs `work` with such a data source. @throws Error in words for an operator when Postgres cannot be reached */
export async function withMigrations<T>(
  env: Env,
  migrations: Migration[],
  work: (dataSource: DataSource) => Promise<T>,
): Promise<T> {
  return await inOperatorsWords(env, async () => {
    const dataSource = await migrationDataSource(env, migrations).initialize();
    try {
      return await work(dataSource);
    } finally {
      await dataSource.destroy();
    }
  });
}

type Query = (...parameters: unknown[]) => Promise<unknown>;

/** Beside those of `pg`. */
interface WatchedConfig extends ClientConfig {
  /** False: no statement gets a name. */
  preparedStatements?: boolean;
  /** In force in each transaction, in milliseconds; sent together with its start. */
  transactionSettings?: Record<string, number>;
}

/**
 * A client always has an `error` listener. Without one, a connection that Postgres closes between the pool's listener
 * and TypeORM's would end the process. A statement on a closed connection still fails with its own error.
 *
 * A client whose statement got no answer in time is destroyed. Otherwise TypeORM returns it to the pool with its
 * transaction still open, because the ROLLBACK waits behind that statement, and the next COMMIT commits what was to be
 * rolled back. Held by lost-connections.e2e.ts.
 */
export class WatchedClient extends Client {
  constructor(config: WatchedConfig = {}) {
    super(config);
    this.on('error', () => undefined);
    const query = this.query.bind(this) as Query;
    const send: Query = traces.isOn
      ? (...parameters) => traces.statement(parameters, query) as Promise<unknown>
      : query;
    const watched: Query = (statement, ...others) => {
      const answer = send(adapt(statement, config), ...others);
      // With a callback the caller is the pool, which destroys a client after every error.
      return typeof others.at(-1) === 'function' ? answer : answer.catch((error: unknown) => this.rethrow(error));
    };
    this.query = watched as Client['query'];
  }

  private rethrow(error: unknown): never {
    if (isQueryTimeout(error)) this.end(() => undefined);
    throw error;
  }
}

/** The statement with which TypeORM starts a transaction. */
const START = 'START TRANSACTION';

function adapt(statement: unknown, { preparedStatements = true, transactionSettings }: WatchedConfig): unknown {
  if (statement === START && transactionSettings) {
    const settings = Object.entries(transactionSettings).map(([name, ms]) => `SET LOCAL ${name} = ${ms}`);
    return [START, ...settings].join('; ');
  }
  if (preparedStatements || typeof statement !== 'object' || statement === null || !('name' in statement)) {
    return statement;
  }
  return { ...statement, name: undefined };
}
