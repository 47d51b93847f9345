import type { Pool } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { DatabaseService, runPrepared, Tx } from './database.service.js';
import { findOrFail } from './find-or-fail.js';

const ID = '019aa5c2-3b4c-7d5e-9f60-718293a4b5c6';

describe('DatabaseService', () => {
  let done: string[];
  let answer: unknown;
  let commits: boolean;
  let database: DatabaseService;

  beforeEach(() => {
    done = [];
    answer = [];
    commits = true;
    const query = async (sql: string, parameters?: unknown[]) => {
      done.push([sql, ...(parameters ?? [])].join(' '));
      return answer;
    };
    const manager = { query } as unknown as EntityManager;
    const transaction = async (work: (given: EntityManager) => Promise<unknown>) => {
      const result = await work(manager);
      if (!commits) throw new Error('commit failed');
      done.push('commit');
      return result;
    };
    database = new DatabaseService({ query, transaction } as unknown as DataSource);
  });

  const follow = (tx: Tx, name: string) => tx.afterCommit(() => void done.push(name));

  it.each([
    ['a SELECT', [{ id: 1 }, { id: 2 }], [{ id: 1 }, { id: 2 }]],
    ['an UPDATE with its count', [[{ id: 1 }], 1], [{ id: 1 }]],
    ['a DELETE of nothing', [[], 0], []],
    ['a SELECT of two rows, one a list', [[1], { id: 2 }], [[1], { id: 2 }]],
  ])('gives the rows of %s', async (_, given, rows) => {
    answer = given;
    expect(await database.query('SQL', ['a'])).toEqual(rows);
    expect(await database.transact((tx) => tx.query('SQL', ['a']))).toEqual(rows);
    expect(done).toEqual(['SQL a', 'SQL a', 'commit']);
  });

  it('runs what waits for the commit in order after it', async () => {
    const result = await database.transact(async (tx) => {
      follow(tx, 'first');
      follow(tx, 'second');
      return 'result';
    });
    expect(result).toBe('result');
    expect(done).toEqual(['commit', 'first', 'second']);
  });

  it('runs nothing of a transaction that was rolled back', async () => {
    commits = false;
    await expect(database.transact(async (tx) => follow(tx, 'first'))).rejects.toThrow('commit failed');
    expect(done).toEqual([]);
  });

  it.each(['40P01', '40001'])(
    'runs a transaction again that Postgres ended with %s, and once what waits',
    async (code) => {
      let attempts = 0;
      const result = await database.transact(async (tx) => {
        attempts += 1;
        follow(tx, `attempt ${attempts}`);
        if (attempts < 3) throw Object.assign(new Error('conflict'), { code });
        return 'result';
      });
      expect(result).toBe('result');
      expect(done).toEqual(['commit', 'attempt 3']);
    },
  );

  it('gives up after four conflicts, and at once after any other error', async () => {
    const failing = jest.fn((code: string) => Promise.reject(Object.assign(new Error(code), { code })));
    await expect(database.transact(() => failing('40P01'))).rejects.toThrow('40P01');
    expect(failing).toHaveBeenCalledTimes(4);
    await expect(database.transact(() => failing('23505'))).rejects.toThrow('23505');
    expect(failing).toHaveBeenCalledTimes(5);
  });

  it('undoes a savepoint that failed, with what waits for its commit, and nothing else', async () => {
    await database.transact(async (tx) => {
      follow(tx, 'outer');
      const failing = tx.savepoint(async (inner) => {
        follow(inner, 'failed');
        throw new Error('undo');
      });
      await expect(failing).rejects.toThrow('undo');
      await tx.savepoint(async (inner) => follow(inner, 'inner'));
    });
    expect(done).toEqual([
      'SAVEPOINT listener',
      'ROLLBACK TO SAVEPOINT listener',
      'SAVEPOINT listener',
      'RELEASE SAVEPOINT listener',
      'commit',
      'outer',
      'inner',
    ]);
  });
});

describe('findOrFail', () => {
  it('gives what it finds', async () => {
    expect(await findOrFail('webhook', ID, async (id) => ({ id }))).toEqual({ id: ID });
  });

  it('refuses what is not there, and does not look for what cannot be an id', async () => {
    const find = jest.fn().mockResolvedValue(null);
    await expect(findOrFail('webhook', 'not-an-id', find)).rejects.toThrow('webhook');
    expect(find).not.toHaveBeenCalled();
    await expect(findOrFail('webhook', ID, find)).rejects.toThrow('webhook');
    expect(find.mock.calls).toEqual([[ID]]);
  });
});

describe('runPrepared', () => {
  it('names a statement by its text: the same again, another differently, within the length of Postgres', async () => {
    const sent: { name: string; text: string; values: unknown[] }[] = [];
    const pool = { query: async (statement: (typeof sent)[0]) => (sent.push(statement), { rows: [1] }) };
    const run = (sql: string, values: unknown[]) => runPrepared(pool as unknown as Pool, sql, values);
    expect(await run('SELECT $1', ['a'])).toEqual([1]);
    await run('SELECT $1', ['b']);
    await run('SELECT $1 ', ['c']);
    expect(sent.map(({ text, values }) => [text, ...values])).toEqual([
      ['SELECT $1', 'a'],
      ['SELECT $1', 'b'],
      ['SELECT $1 ', 'c'],
    ]);
    const [first, again, other] = sent.map(({ name }) => name);
    expect(again).toBe(first);
    expect(other).not.toBe(first);
    // Postgres cuts names after 63 bytes.
    for (const { name } of sent) expect(name).toMatch(/^[0-9a-f]{32}$/);
  });
});
