import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { ClientBase, Pool } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { runPrepared } from './prepared-statements.js';

/** What runs SQL: the pool, or one transaction. */
export interface SqlRunner {
  /** Rows of a SELECT or of a RETURNING clause. */
  query<Row>(sql: string, parameters?: unknown[]): Promise<Row[]>;
  /** The same, planned once for each connection; for the statements of frequent requests. */
  prepared<Row>(sql: string, parameters: unknown[]): Promise<Row[]>;
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

@Injectable()
export class DatabaseService implements SqlRunner {
  constructor(@InjectDataSource() readonly dataSource: DataSource) {}

  /** Commits when `work` resolves, rolls back when it throws. */
  async transact<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const { tx, result } = await this.dataSource.transaction(async (manager) => {
      const opened = new Tx(manager);
      return { tx: opened, result: await work(opened) };
    });
    tx.committed();
    return result;
  }

  async query<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return rowsOf<Row>(await this.dataSource.query(sql, parameters));
  }

  async prepared<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    return await runPrepared((this.dataSource.driver as PostgresDriver).master as Pool, sql, parameters);
  }
}

/** TypeORM answers UPDATE and DELETE with `[rows, count]`, and everything else with rows. */
function rowsOf<Row>(answer: unknown): Row[] {
  const list = answer as unknown[];
  const isCounted = list.length === 2 && Array.isArray(list[0]) && typeof list[1] === 'number';
  return (isCounted ? list[0] : list) as Row[];
}
