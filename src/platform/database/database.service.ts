import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { ClientBase, Pool } from 'pg';
import { DataSource, type EntityManager, type EntityTarget, type ObjectLiteral } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';

/** One transaction: everything that belongs together goes through it, and what must wait for its commit is told to it. */
export class Tx {
  private readonly followUps: (() => void)[] = [];

  constructor(readonly manager: EntityManager) {}

  /** Rows of a SELECT or of a RETURNING clause. */
  async query<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return rows<Row>(await this.manager.query(sql, parameters));
  }

  /** As `Database.prepared`, in this transaction. */
  async prepared<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    const client = (await this.manager.queryRunner?.connect()) as ClientBase;
    return await runPrepared(client, sql, parameters);
  }

  /** Runs `task` once the transaction is committed, and never otherwise. It must not throw. */
  afterCommit(task: () => void): void {
    this.followUps.push(task);
  }

  /** Runs `work` in a savepoint: when it throws, what it wrote and what it registered is undone, and no more. */
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

export interface Insertion<Entity> {
  /** The table and its columns. */
  into: string;
  values: string;
  parametersOf: (row: Entity) => unknown[];
}

@Injectable()
export class DatabaseService {
  constructor(@InjectDataSource() readonly dataSource: DataSource) {}

  private get pool(): Pool {
    return (this.dataSource.driver as PostgresDriver).master as Pool;
  }

  /** Commits when `work` resolves, rolls back when it throws. */
  async transact<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const { tx, result } = await this.dataSource.transaction(async (manager) => {
      const opened = new Tx(manager);
      return { tx: opened, result: await work(opened) };
    });
    tx.committed();
    return result;
  }

  /** Rows of a SELECT or of a RETURNING clause. */
  async query<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return rows<Row>(await this.dataSource.query(sql, parameters));
  }

  /**
   * As `query`, for the few statements that nearly every request runs: Postgres parses and plans each once a session,
   * and nothing stands between it and the pool. Dates and numbers come as `pg` gives them.
   */
  async prepared<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    return await runPrepared(this.pool, sql, parameters);
  }

  /** The select list that returns an entity's columns under its property names, without TypeORM's hydration. */
  columns(entity: EntityTarget<ObjectLiteral>, alias: string): string {
    const { columns } = this.dataSource.getMetadata(entity);
    return columns.map((column) => `${alias}.${column.databaseName} AS "${column.propertyName}"`).join(', ');
  }

  /** What the INSERT of one row of an entity is made of, with `$1` and on as its values, without TypeORM's builder. */
  insertion<Entity extends ObjectLiteral>(entity: EntityTarget<Entity>): Insertion<Entity> {
    const { tablePath, columns } = this.dataSource.getMetadata(entity);
    return {
      into: `${tablePath} (${columns.map(({ databaseName }) => databaseName).join(', ')})`,
      values: columns.map((_, i) => `$${i + 1}`).join(', '),
      parametersOf: (row) => columns.map(({ propertyName }) => row[propertyName] as unknown),
    };
  }
}

async function runPrepared<Row>(on: Pool | ClientBase, sql: string, values: unknown[]): Promise<Row[]> {
  const { rows: found } = await on.query({ name: statementName(sql), text: sql, values });
  return found as Row[];
}

const names = new Map<string, string>();

/** A statement's text decides its name, so that none is ever prepared under another's. */
function statementName(sql: string): string {
  const known = names.get(sql);
  if (known) return known;
  const name = createHash('sha256').update(sql).digest('hex').slice(0, 32);
  names.set(sql, name);
  return name;
}

/** TypeORM answers UPDATE and DELETE with `[rows, count]` and everything else with rows. */
function rows<Row>(answer: unknown): Row[] {
  const list = answer as unknown[];
  const isCounted = list.length === 2 && Array.isArray(list[0]) && typeof list[1] === 'number';
  return (isCounted ? list[0] : list) as Row[];
}
