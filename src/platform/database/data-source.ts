import { Client, type ClientConfig } from 'pg';
import { DataSource, type DataSourceOptions, DefaultNamingStrategy, type MigrationInterface } from 'typeorm';
import type { Env } from '../config/env.js';
import { snakeCase } from './snake-case.js';
import { isQueryTimeout } from './unavailable.js';

export type Migration = new () => MigrationInterface;

/** Longer than any statement needs. A request on a lost connection waits no longer than this. */
const STATEMENT_TIMEOUT_MS = 15_000;
/** A request without a connection by then is answered 503, within 2 s in all. */
const CONNECTION_TIMEOUT_MS = 1500;
const POOL_SIZE = 20;

type Query = (...parameters: unknown[]) => Promise<unknown>;

/**
 * A client always has an `error` listener. Without one, a connection that Postgres closes between the pool's listener
 * and TypeORM's would end the process. A statement on a closed connection still fails with its own error.
 *
 * A client whose statement got no answer in time is destroyed. Otherwise TypeORM returns it to the pool with its
 * transaction still open, because the ROLLBACK waits behind that statement, and the next COMMIT commits what was to be
 * rolled back. Held by lost-connections.e2e.ts.
 */
class WatchedClient extends Client {
  constructor(config?: ClientConfig) {
    super(config);
    this.on('error', () => undefined);
    const query = this.query.bind(this) as Query;
    const watched: Query = (...parameters) => {
      const answer = query(...parameters);
      // With a callback the caller is the pool, which destroys a client after every error.
      return typeof parameters.at(-1) === 'function' ? answer : answer.catch((error: unknown) => this.rethrow(error));
    };
    this.query = watched as Client['query'];
  }

  private rethrow(error: unknown): never {
    if (isQueryTimeout(error)) this.end(() => undefined);
    throw error;
  }
}

/** A column is named after its property, in snake_case. */
class SnakeCase extends DefaultNamingStrategy {
  override columnName(property: string, custom: string, prefixes: string[]): string {
    return snakeCase([...prefixes, custom || property].join('_'));
  }
}

export function dataSourceOptions(env: Env, migrations: Migration[]): Extract<DataSourceOptions, { type: 'postgres' }> {
  return {
    type: 'postgres',
    url: env.databaseUrl,
    namingStrategy: new SnakeCase(),
    migrations,
    migrationsTransactionMode: 'each',
    logging: false,
    applicationName: 'voice-notes',
    extra: {
      Client: WatchedClient,
      max: POOL_SIZE,
      connectionTimeoutMillis: CONNECTION_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      query_timeout: STATEMENT_TIMEOUT_MS + 1000,
      idle_in_transaction_session_timeout: 60_000,
      keepAlive: true,
      options: '-c timezone=UTC',
    },
  };
}

/** A data source for commands that change the schema: no entities, and no time limit on statements. */
export function migrationDataSource(env: Env, migrations: Migration[]): DataSource {
  const options = dataSourceOptions(env, migrations);
  return new DataSource({ ...options, extra: { Client: WatchedClient, connectionTimeoutMillis: 10_000, max: 2 } });
}
