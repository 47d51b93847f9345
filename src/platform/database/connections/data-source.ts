import pg from 'pg';
import { DataSource, type DataSourceOptions, DefaultNamingStrategy, type MigrationInterface } from 'typeorm';
import type { Env } from '../../config/env.js';
import { snakeCase } from '../snake-case.js';
import { WatchedClient } from './watched-client.js';

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
