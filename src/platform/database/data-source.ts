import { Client, type ClientConfig } from 'pg';
import { DataSource, type DataSourceOptions, DefaultNamingStrategy, type MigrationInterface } from 'typeorm';
import type { Env } from '../config/env.js';

export type Migration = new () => MigrationInterface;

/** Longer than any statement of ours needs; a lost connection must not hold a request longer. */
const STATEMENT_TIMEOUT_MS = 15_000;
/** A request that cannot get a connection in this time is answered 503 (within 2 s in all). */
const CONNECTION_TIMEOUT_MS = 1500;
const POOL_SIZE = 20;

/**
 * A session that Postgres ends also ends the process when nobody listens at that moment, and between the pool and
 * TypeORM there are moments in which nobody does. Whoever asks the lost session for something still gets the error.
 */
class WatchedClient extends Client {
  constructor(config?: ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }
}

/** Columns are named like their properties, in snake_case: the one place where the two spellings meet. */
class SnakeCase extends DefaultNamingStrategy {
  override columnName(property: string, custom: string, prefixes: string[]): string {
    return snakeCase([...prefixes, custom || property].join('_'));
  }
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

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

/** A data source for commands that work on the schema itself: no entities, no time limit on statements. */
export function migrationDataSource(env: Env, migrations: Migration[]): DataSource {
  const options = dataSourceOptions(env, migrations);
  return new DataSource({ ...options, extra: { Client: WatchedClient, connectionTimeoutMillis: 10_000, max: 2 } });
}
