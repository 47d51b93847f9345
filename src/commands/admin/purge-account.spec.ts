import type { DatabaseService } from '../../platform/database/database.service.js';
import type { ObjectStore } from '../../platform/storage/object-store.js';
import { AccountPurge } from './purge-account.js';

const BATCH = 500;

describe('AccountPurge', () => {
  let steps: unknown[][];
  /** Rows that each deletion finds, by table, and objects that each look finds due. */
  let recordings: number[];
  let rows: Record<string, number[]>;
  let due: string[][];
  /** Whether the account is empty, look by look. */
  let isEmpty: boolean[];
  let atOnce: number;
  let most: number;
  let purge: AccountPurge;

  beforeEach(() => {
    [steps, recordings, rows, due, isEmpty, atOnce, most] = [[], [], {}, [], [], 0, 0];
    const many = (count = 0): object[] => Array.from({ length: count }, () => ({}));
    const query = async (sql: string, given: unknown[] = []): Promise<object[]> => {
      if (sql.includes('pg_constraint')) {
        const names = ['recordings', 'events', 'api_keys'];
        if (sql.includes('pg_class')) names.push('object_removals');
        return names.map((name) => ({ name, column: 'account_id' }));
      }
      if (sql.includes('count(*)')) return [{ count: sql.includes('starts_with') ? 3 : 2 }];
      if (sql.includes('INSERT INTO object_removals')) {
        steps.push(['recordings', ...given]);
        return many(recordings.shift());
      }
      if (sql.includes('SELECT object_key')) return (due.shift() ?? []).map((key) => ({ key }));
      if (sql.includes('DELETE FROM object_removals')) {
        steps.push(['off the list', (given[0] as string[]).length]);
        return [];
      }
      const [, table = ''] = /DELETE FROM (\w+)/.exec(sql) ?? [];
      steps.push([table, ...given]);
      return many(rows[table]?.shift());
    };
    const tx = {
      query: async (sql: string, given: unknown[]) => {
        if (sql.includes('FOR UPDATE')) steps.push(['lock', ...given]);
        if (sql.includes('FROM recordings')) return (isEmpty.shift() ?? true) ? [] : [{}];
        if (sql.startsWith('DELETE FROM accounts')) steps.push(['account', ...given]);
        return [];
      },
    };
    const store = {
      remove: async (key: string) => {
        most = Math.max(most, ++atOnce);
        await new Promise((resolve) => void setImmediate(resolve));
        atOnce--;
        steps.push(['remove', key]);
      },
      removeUnder: async (prefix: string) => {
        steps.push(['remove under', prefix]);
        return 4;
      },
      countUnder: async () => 6,
    };
    const database = { query, transact: async (work: (transaction: unknown) => Promise<boolean>) => await work(tx) };
    purge = new AccountPurge(database as unknown as DatabaseService, store as unknown as ObjectStore, 'a');
  });

  it('deletes recordings and their objects, then events, then the other rows, then the account, then what is left', async () => {
    recordings = [BATCH, 3];
    due = [[], ['a/1'], [], ['a/2']];
    rows = { events: [BATCH, 1], api_keys: [2] };
    expect(await purge.run()).toEqual({ recordings: BATCH + 3, objects: 2 + 4 });
    expect(steps).toEqual([
      ['account_exports', 'a'],
      ['recordings', 'a', BATCH],
      ['remove', 'a/1'],
      ['off the list', 1],
      ['recordings', 'a', BATCH],
      ['remove', 'a/2'],
      ['off the list', 1],
      ['recordings', 'a', BATCH],
      ['events', 'a', BATCH],
      ['events', 'a', BATCH],
      ['events', 'a', BATCH],
      ['recordings', 'a', BATCH],
      ['api_keys', 'a', BATCH],
      ['api_keys', 'a', BATCH],
      ['lock', 'a'],
      ['account', 'a'],
      ['remove under', 'a'],
      ['live_audio'],
    ]);
  });

  it('begins again when an upload has committed a recording meanwhile', async () => {
    isEmpty = [false, true];
    recordings = [0, 1];
    expect(await purge.run()).toMatchObject({ recordings: 1 });
    expect(steps.filter(([name]) => name === 'account')).toHaveLength(1);
    expect(steps.filter(([name]) => name === 'lock')).toHaveLength(2);
  });

  it('removes 16 objects at a time, also those that an earlier run has left', async () => {
    due = [Array.from({ length: 40 }, (_, i) => `a/${i}`)];
    expect(await purge.run()).toEqual({ recordings: 0, objects: 40 + 4 });
    expect(most).toBe(16);
    expect(steps.slice(1, 42).map(([name]) => name)).toEqual([
      ...Array.from({ length: 40 }, () => 'remove'),
      'off the list',
    ]);
  });

  it('tells what is left, table by table', async () => {
    expect(await purge.remains()).toEqual({
      rows: { accounts: 2, recordings: 2, events: 2, api_keys: 2, live_audio: 2, object_removals: 2 + 3 },
      objects: 6,
    });
  });
});
