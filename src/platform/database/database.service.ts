import { hash } from 'node:crypto';
import { isNativeError } from 'node:util/types';
import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { ClientBase, Pool, QueryConfig } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { retry } from '../concurrency/retry.js';
import { traces } from '../observability/traces/traces.js';

/** What runs SQL: the pool, or one transaction. */
export interface SqlRunner {
  /** Rows of a SELECT or of a RETURNING clause. */
  query<Row>(sql: string, parameters?: unknown[]): Promise<Row[]>;
  /** The same, planned once for each connection; for the statements of frequent requests. */
  prepared<Row>(sql: string, parameters: unknown[]): Promise<Row[]>;
}

/** The types of `pg` lack the time after which a connection gives up one statement. */
interface PatientStatement extends QueryConfig {
  query_timeout: number;
}

/** One transaction. All statements that belong together go through it, and so do the tasks that wait for its commit. */
export class Tx implements SqlRunner {
  private readonly followUps: (() => void)[] = [];

  constructor(readonly manager: EntityManager) {}

  async query<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return rowsOf<Row>(await this.manager.query(sql, parameters));
  }

  async prepared<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    const client = (await this.manager.queryRunner?.connect()) as ClientBase;
    return await runPrepared(client, sql, parameters);
  }

  /** As `query`, for a statement for which the connection waits longer. Postgres has its `statement_timeout`. */
  async patient<Row>(sql: string, timeoutMs: number): Promise<Row[]> {
    const client = (await this.manager.queryRunner?.connect()) as ClientBase;
    const statement: PatientStatement = { text: sql, query_timeout: timeoutMs + 1000 };
    return (await client.query(statement)).rows as Row[];
  }

  /** Runs `task` after the commit, and never after a rollback. It must not throw. */
  afterCommit(task: () => void): void {
    this.followUps.push(task);
  }

  /** Runs `work` in a savepoint: when it throws, its writes and its `afterCommit` tasks are dropped, nothing else. */
  async savepoint(work: (tx: Tx) => Promise<void>): Promise<void> {
    const inner = new Tx(this.manager);
    await this.manager.query('SAVEPOINT listener');
    try {
      await work(inner);
      await this.manager.query('RELEASE SAVEPOINT listener');
    } catch (error) {
      await this.manager.query('ROLLBACK TO SAVEPOINT listener');
      throw error;
    }
    this.followUps.push(...inner.followUps);
  }

  committed(): void {
    for (const task of this.followUps) task();
  }
}

/** SQLSTATE 40001 serialization_failure, 40P01 deadlock_detected. Postgres has undone the whole transaction. */
const CONFLICTS = /^40(001|P01)$/;
const MAX_ATTEMPTS = 4;
const RETRY_MS = 50;

/** At random, so that two that met do not meet again. Null for any other error, and after the last attempt. */
const waitAfterConflict = (error: unknown, attempt: number): number | null =>
  attempt < MAX_ATTEMPTS && isNativeError(error) && 'code' in error && CONFLICTS.test(String(error.code))
    ? Math.random() * attempt * RETRY_MS
    : null;

@Injectable()
export class DatabaseService implements SqlRunner {
  constructor(@InjectDataSource() readonly dataSource: DataSource) {}

  /** The connections of this process. */
  get pool(): Pool {
    return (this.dataSource.driver as PostgresDriver).master as Pool;
  }

  /**
   * Commits when `work` resolves, rolls back when it throws. A deadlock or a serialisation failure is nobody's mistake:
   * `work` runs again, so it must change nothing but the database.
   */
  async transact<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const attempt = () =>
      this.dataSource.transaction(async (manager) => {
        const tx = new Tx(manager);
        return { tx, result: await work(tx) };
      });
    const { tx, result } = await retry(attempt, waitAfterConflict);
    tx.committed();
    return result;
  }

  async query<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return rowsOf<Row>(await this.dataSource.query(sql, parameters));
  }

  async prepared<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    return await runPrepared(this.pool, sql, parameters);
  }
}

/** TypeORM answers UPDATE and DELETE with `[rows, count]`, and everything else with rows. */
function rowsOf<Row>(answer: unknown): Row[] {
  const list = answer as unknown[];
  const isCounted = list.length === 2 && Array.isArray(list[0]) && typeof list[1] === 'number';
  return (isCounted ? list[0] : list) as Row[];
}

/**
 * Runs a statement as a named prepared one: Postgres parses and plans it once for each connection. Used for the
 * statements of uploads, of reads, of changed recordings and of deliveries only. With the reservation, the row and its
 * counts in one statement it took uploads from 370 to 590 a second, and the CPU time of Postgres from 970 to 620 µs each
 * (docs/performance.md).
 * Held by `credential-cache.e2e.ts`, which counts the statements of a request.
 */
export async function runPrepared<Row>(on: Pool | ClientBase, sql: string, values: unknown[]): Promise<Row[]> {
  const { rows } = await on.query(traces.bindStatement({ name: statementName(sql), text: sql, values }));
  return rows as Row[];
}

const names = new Map<string, string>();

/** The text decides the name, so that no statement can run under the name of another. */
function statementName(sql: string): string {
  const known = names.get(sql);
  if (known) return known;
  const name = hash('sha256', sql, 'hex').slice(0, 32);
  names.set(sql, name);
  return name;
}
