import { v7 as uuidv7 } from 'uuid';
import { readQuotaUsage } from '../../../src/modules/recordings/quotas.service.js';
import {
  deleteOldBreakdowns,
  forgetUserUsage,
} from '../../../src/modules/recordings/usage-counters/usage-breakdown.queries.js';
import {
  compactUsageCounters,
  sumUsage,
} from '../../../src/modules/recordings/usage-counters/usage-counters.queries.js';
import { useService } from '../../../src/testing/test-service.js';

describe('the usage counters in Postgres', () => {
  const service = useService({ ROLES: 'api' });
  let accountId: string;
  let strangerId: string;

  beforeEach(async () => {
    ({ accountId } = await service.account());
    ({ accountId: strangerId } = await service.account());
  });

  const query = <Row>(sql: string, parameters: unknown[] = []) => service.database.query<Row>(sql, parameters);

  const count = (account: string, table: string, day: string, figure: number) =>
    query(
      `INSERT INTO ${table} (account_id, day, status, listed, accepted, duration_ms, bytes, queued_ms)
         VALUES ($1, $2, 'processing', $3::int, $3::int, $3::int * 2, $3::int * 3, $3::int * 4)`,
      [account, day, figure],
    );

  it('are compacted until nothing is left, however much there is', async () => {
    await query(
      `INSERT INTO usage_counter_deltas (account_id, day, status, listed, accepted, duration_ms, bytes)
         SELECT $1, '2026-01-01', 'processing', 1, 1, 2, 3 FROM generate_series(1, 45000)`,
      [accountId],
    );
    await compactUsageCounters(service.database);
    const [row] = await query(
      `SELECT (SELECT count(*)::int FROM usage_counter_deltas WHERE account_id = $1) AS left,
         (SELECT accepted::int FROM usage_counters WHERE account_id = $1) AS accepted`,
      [accountId],
    );
    expect(row).toEqual({ left: 0, accepted: 45_000 });
  });

  it('give what is used of the quotas: the month from its first day, the rest of all days', async () => {
    await count(accountId, 'usage_counters', '2026-01-31', 1);
    await count(accountId, 'usage_counters', '2026-02-01', 10);
    await count(accountId, 'usage_counter_deltas', '2026-02-03', 100);
    await count(strangerId, 'usage_counter_deltas', '2026-02-03', 1000);
    const unknown = uuidv7();
    expect(await readQuotaUsage(service.database, [strangerId, unknown, accountId], '2026-02-01')).toEqual([
      { storedBytes: 3000, monthMs: 2000, queuedMs: 4000 },
      { storedBytes: 0, monthMs: 0, queuedMs: 0 },
      { storedBytes: 333, monthMs: 220, queuedMs: 444 },
    ]);
  });

  it('give the usage of two periods, each with its first day and without the one behind its last', async () => {
    const days = ['2025-12-31', '2026-01-01', '2026-01-31', '2026-02-01', '2026-02-28', '2026-03-01'];
    for (const [i, day] of days.entries()) {
      await count(accountId, i % 2 === 0 ? 'usage_counters' : 'usage_counter_deltas', day, 10 ** i);
    }
    const periods = { from: '2026-01-01', middle: '2026-02-01', end: '2026-03-01' };
    const found = await sumUsage(service.database, [accountId, strangerId], periods);
    const period = (isLater: boolean, n: number) => ({
      accountId,
      isLater,
      recordings: n,
      durationMs: 2 * n,
      bytes: 3 * n,
    });
    expect(found.toSorted((a, b) => a.recordings - b.recordings)).toEqual([period(false, 110), period(true, 11_000)]);
  });

  it('of keys and end users are kept for 400 days, and deleted so many at a time', async () => {
    await query('DELETE FROM usage_breakdowns');
    for (const [value, back] of [
      ['a', 401],
      ['b', 402],
      ['c', 500],
      ['kept', 400],
      ['new', 0],
    ] as const) {
      await query(
        `INSERT INTO usage_breakdowns (account_id, dimension, value, day, accepted, transcribed, failed, duration_ms, bytes)
           VALUES ($1, 'user', $2, (now() AT TIME ZONE 'UTC')::date - $3::int, 1, 1, 1, 1, 1)`,
        [accountId, value, back],
      );
    }
    const remove = () => deleteOldBreakdowns(service.database, 2);
    expect([await remove(), await remove(), await remove()]).toEqual([2, 1, 0]);
    const left = await query<{ value: string }>('SELECT value FROM usage_breakdowns ORDER BY value');
    expect(left.map(({ value }) => value)).toEqual(['kept', 'new']);
  });

  it('of an end user who is erased count for nobody', async () => {
    const addBreakdown = (account: string, dimension: string, value: string, day: string, figure: number) =>
      query(
        `INSERT INTO usage_breakdowns (account_id, dimension, value, day, accepted, transcribed, failed, duration_ms, bytes)
           VALUES ($1, $2, $3, $4, $5::int, $5::int * 2, $5::int * 3, $5::int * 4, $5::int * 5)`,
        [account, dimension, value, day, figure],
      );
    await addBreakdown(accountId, 'user', 'ada', '2026-01-01', 1);
    await addBreakdown(accountId, 'user', 'ada', '2026-01-02', 10);
    await addBreakdown(accountId, 'user', '', '2026-01-02', 100);
    const kept: [string, string, string, string, number][] = [
      [accountId, 'user', 'eve', '2026-01-01', 3],
      [accountId, 'key', 'ada', '2026-01-01', 4],
      [strangerId, 'user', 'ada', '2026-01-01', 5],
    ];
    for (const row of kept) await addBreakdown(...row);
    for (const [account, user] of [
      [accountId, 'ada'],
      [accountId, 'eve'],
      [strangerId, 'ada'],
    ]) {
      await query(
        `INSERT INTO usage_counter_deltas (account_id, day, status, listed, accepted, duration_ms, bytes, user_id)
           VALUES ($1, '2026-01-01', 'processing', 1, 1, 1, 1, $2)`,
        [account, user],
      );
    }
    await service.database.transact((tx) => forgetUserUsage(tx, accountId, 'ada'));
    const rows = await query(
      `SELECT account_id, dimension, value, day::text, accepted::int, transcribed::int, failed::int,
           duration_ms::int, bytes::int
         FROM usage_breakdowns WHERE account_id = ANY ($1) ORDER BY accepted`,
      [[accountId, strangerId]],
    );
    const row = (account: string, dimension: string, value: string, day: string, n: number) => ({
      account_id: account,
      dimension,
      value,
      day,
      accepted: n,
      transcribed: 2 * n,
      failed: 3 * n,
      duration_ms: 4 * n,
      bytes: 5 * n,
    });
    expect(rows).toEqual([
      row(accountId, 'user', '', '2026-01-01', 1),
      ...kept.map((given) => row(...given)),
      row(accountId, 'user', '', '2026-01-02', 110),
    ]);
    const users = await query<{ user_id: string | null }>(
      `SELECT user_id FROM usage_counter_deltas WHERE account_id = ANY ($1) ORDER BY user_id`,
      [[accountId, strangerId]],
    );
    expect(users.map(({ user_id }) => user_id)).toEqual(['ada', 'eve', null]);
  });
});
