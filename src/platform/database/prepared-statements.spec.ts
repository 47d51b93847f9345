import type { Pool } from 'pg';
import { runPrepared } from './prepared-statements.js';

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
