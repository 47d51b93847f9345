import { setTimeout as delay } from 'node:timers/promises';
import { CounterAuditService } from '../../../src/modules/recordings/usage-counters/counter-audit.service.js';
import { deleteOldBreakdowns } from '../../../src/modules/recordings/usage-counters/usage-breakdown.queries.js';
import { compactUsageCounters } from '../../../src/modules/recordings/usage-counters/usage-counters.queries.js';
import { checkRows } from '../../support/check-rows.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { expectInvalid } from '../../support/http/expect-errors.js';
import { backdate, fail, transcribe } from '../../support/state/recording-states.js';

const USAGE = '/v1/account/usage';
const DAY_MS = 86_400_000;
/** Of what runs beside the actors of a test: it leaves the processor to them, most of the time. */
const PAUSE_MS = 10;
const dayBefore = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);

interface Figures {
  recordings_count: number;
  transcribed_count: number;
  failed_count: number;
  total_duration_seconds: number;
  storage_used_bytes: number;
}
type Item = Figures & { day?: string; key_id?: string | null; user_id?: string | null };

const NOTHING: Figures = {
  recordings_count: 0,
  transcribed_count: 0,
  failed_count: 0,
  total_duration_seconds: 0,
  storage_used_bytes: 0,
};

describe('GET /v1/account/usage', () => {
  let client: ApiClient;

  const service = useService({ ROLES: 'api', RECONCILE_SECONDS: '0' });

  beforeEach(async () => {
    client = await service.account();
  });

  const report = async (query = ''): Promise<{ items: Item[]; next_uri: string | null }> =>
    (await client.get(`${USAGE}${query}`).expect(200)).body;

  /** Of an end user, with the token of a key. */
  async function uploadFor(by: ApiClient, identity: string | null, audio: Buffer): Promise<string> {
    if (identity === null) return (await by.upload(audio).expect(201)).body.id;
    const { body: token } = await by.post('/v1/account/access-tokens', { identity }).expect(201);
    return (await by.upload(audio).set('Authorization', `Bearer ${token.token}`).expect(201)).body.id;
  }

  it('has an item for each of the last 30 days, the present one last', async () => {
    const { body: recording } = await client.upload(silenceWav(0.5)).expect(201);
    const { body } = await client.get(USAGE).expect(200);

    expect(body).toEqual({
      days: 30,
      by: 'day',
      from: dayBefore(29),
      to: dayBefore(0),
      items: expect.any(Array),
      uri: `${USAGE}?days=30&by=day`,
      next_uri: null,
    });
    expect(body.items.map(({ day }: Item) => day)).toEqual(Array.from({ length: 30 }, (_, i) => dayBefore(29 - i)));
    const { file_size_bytes: bytes } = recording;
    const used = { ...NOTHING, recordings_count: 1, total_duration_seconds: 0.5, storage_used_bytes: bytes };
    expect(body.items.at(-1)).toEqual({ day: dayBefore(0), ...used });
    expect(body.items[0]).toEqual({ day: dayBefore(29), ...NOTHING });
    expect((await report('?by=key')).items).toEqual([{ key_id: client.credentials.id, ...used }]);
    expect((await report('?by=user')).items).toEqual([{ user_id: null, ...used }]);
  });

  it('counts on the day of creation, and only the days asked for', async () => {
    const { body } = await client.upload(silenceWav(0.1)).expect(201);
    await backdate(service, body.id, `${dayBefore(2)}T23:59:59.999Z`);
    await transcribe(service, body.id, { durationMs: 250 });

    const expected = { recordings_count: 1, transcribed_count: 1, total_duration_seconds: 0.25 };
    expect((await report('?days=3')).items[0]).toMatchObject({ day: dayBefore(2), ...expected });
    expect((await report('?days=3&by=key')).items).toEqual([expect.objectContaining(expected)]);
    for (const by of ['key', 'user']) expect((await report(`?days=2&by=${by}`)).items).toEqual([]);
  });

  it('refuses other days, groups and pages, naming the field', () =>
    checkRows(
      [
        ['days=0', 'days'],
        ['days=366', 'days'],
        ['days=7&days=8', 'days'],
        ['by=week', 'by'],
        ['by=key&limit=101', 'limit'],
        ['limit=10', 'limit'],
        ['by=day&after=x', 'after'],
        ['by=user&after=%01', 'after'],
      ],
      async (query, field) => expectInvalid(await client.get(`${USAGE}?${query}`), field),
    ));

  it('gives end users in the order of their ids, a page at a time, those without one first', async () => {
    const identities = ['b', 'ä & ö?', 'a', 'B', null];
    for (const identity of identities) await uploadFor(client, identity, silenceWav(0.1));
    await compactUsageCounters(service.database);
    await uploadFor(client, 'c', silenceWav(0.1));

    const seen: unknown[] = [];
    let uri: string | null = `${USAGE}?by=user&limit=2&days=1`;
    while (uri !== null) {
      const { body }: { body: Awaited<ReturnType<typeof report>> } = await client.get(uri).expect(200);
      expect(body.items.length).toBeLessThanOrEqual(2);
      seen.push(...body.items.map((item) => item.user_id));
      uri = body.next_uri;
    }
    expect(seen).toEqual([null, 'B', 'a', 'b', 'c', 'ä & ö?']);
    const { body: first } = await client.get(`${USAGE}?by=user&limit=1`).expect(200);
    expect(first.next_uri).toBe(`${USAGE}?days=30&by=user&limit=1&after=`);
    expect((await client.get(first.next_uri).expect(200)).body.items[0].user_id).toBe('B');
  });

  /** What must be counted, from what was done. */
  class Expected {
    readonly groups = new Map<string, Figures>();

    add(values: string[], change: Partial<Figures>): void {
      for (const value of values) {
        const figures = { ...(this.groups.get(value) ?? NOTHING) };
        for (const [name, by] of Object.entries(change) as [keyof Figures, number][])
          figures[name] = Math.round((figures[name] + by) * 1000) / 1000;
        this.groups.set(value, figures);
      }
    }
  }

  it('is exact while uploads, failures, retries, deletes and compactions happen at once', async () => {
    const keys = [client, await service.key(client, ['recordings:read', 'recordings:write'])];
    const identities = [null, 'user-1', 'user-2'];
    const expected = new Expected();

    async function act(index: number): Promise<void> {
      const by = keys[index % 2] as ApiClient;
      const identity = identities[index % 3] ?? null;
      const groups = ['day', `key ${by.credentials.id}`, `user ${identity}`];
      const audio = silenceWav((1 + index) / 100);
      const id = await uploadFor(by, identity, audio);
      expected.add(groups, {
        recordings_count: 1,
        total_duration_seconds: (1 + index) / 100,
        storage_used_bytes: audio.length,
      });
      if (index % 4 === 0) {
        await fail(service, id);
        expected.add(groups, { failed_count: 1 });
        if (index % 8 === 0) {
          await by.post(`/v1/recordings/${id}/retry`).expect(202);
          expected.add(groups, { failed_count: -1 });
          await transcribe(service, id, { durationMs: (1 + index) * 10 });
          expected.add(groups, { transcribed_count: 1 });
        }
      } else if (index % 4 === 1) {
        await transcribe(service, id, { durationMs: 777 });
        expected.add(groups, { transcribed_count: 1, total_duration_seconds: 0.777 - (1 + index) / 100 });
      }
      if (index % 5 < 2) {
        await by.delete(`/v1/recordings/${id}`).expect(204);
        expected.add(groups, { storage_used_bytes: -audio.length });
      }
    }

    let acting = true;
    const folding = [1, 2].map(async () => {
      while (acting) {
        await compactUsageCounters(service.database);
        await delay(PAUSE_MS);
      }
    });
    const audit = new CounterAuditService(service.database);
    const watching = (async () => {
      while (acting) {
        expect(await audit.breakdownDifferences(client.accountId)).toEqual([]);
        expect(await audit.differences(client.accountId)).toEqual([]);
        await delay(PAUSE_MS);
      }
    })();
    const queue = Array.from({ length: 48 }, (_, i) => i);
    const actors = Array.from({ length: 6 }, async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await act(next);
    });
    await Promise.all(actors).finally(() => (acting = false));
    await Promise.all([...folding, watching]);

    const check = async (): Promise<void> => {
      const found = new Map<string, Figures>();
      const [today] = (await report('?days=1')).items;
      const { day: _, ...figures } = today as Item;
      found.set('day', figures);
      for (const { key_id: id, ...item } of (await report('?by=key')).items) found.set(`key ${id}`, item);
      for (const { user_id: id, ...item } of (await report('?by=user')).items) found.set(`user ${id}`, item);
      expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected.groups));
    };
    await check();
    await compactUsageCounters(service.database);
    await check();
    // The rows agree with what was counted.
    const { body } = await client.get('/v1/account').expect(200);
    const day = expected.groups.get('day') as Figures;
    expect(body.usage.current_month).toMatchObject({ recordings_count: day.recordings_count });
  });

  it('is verified and corrected by counters:verify and counters:rebuild', async () => {
    const id = await uploadFor(client, 'user-1', silenceWav(0.1));
    await uploadFor(client, null, silenceWav(0.2));
    await fail(service, id);
    await compactUsageCounters(service.database);
    const before = await Promise.all(['day', 'key', 'user'].map((by) => report(`?by=${by}`)));
    const audit = new CounterAuditService(service.database);
    expect(await audit.breakdownDifferences(client.accountId)).toEqual([]);

    await service.database.query(
      `UPDATE usage_breakdowns SET bytes = bytes + 5, failed = failed - 1 WHERE account_id = $1 AND value = 'user-1'`,
      [client.accountId],
    );
    await service.database.query(`DELETE FROM usage_breakdowns WHERE account_id = $1 AND dimension = 'key'`, [
      client.accountId,
    ]);
    const found = await audit.breakdownDifferences(client.accountId);
    expect(found).toContainEqual(expect.objectContaining({ value: 'user-1', figure: 'failed', counted: 0, actual: 1 }));
    expect(found).toContainEqual(
      expect.objectContaining({
        dimension: 'key',
        value: client.credentials.id,
        figure: 'accepted',
        counted: 0,
        actual: 2,
      }),
    );
    expect(await audit.rebuild(client.accountId)).toBe(1);
    expect(await audit.breakdownDifferences(client.accountId)).toEqual([]);
    expect(await Promise.all(['day', 'key', 'user'].map((by) => report(`?by=${by}`)))).toEqual(before);
  });

  it('counts for no end user what an erased one has used (D46)', async () => {
    await uploadFor(client, 'user-1', silenceWav(0.1));
    await compactUsageCounters(service.database);
    await uploadFor(client, 'user-1', silenceWav(0.2));
    await uploadFor(client, 'user-2', silenceWav(0.3));
    await client.delete('/v1/users/user-1').expect(202);

    const erased = { ...NOTHING, recordings_count: 2, total_duration_seconds: 0.3 };
    const check = async () => {
      const { items } = await report('?by=user');
      expect(items).toEqual([{ user_id: null, ...erased }, expect.objectContaining({ user_id: 'user-2' })]);
    };
    await check();
    await compactUsageCounters(service.database);
    await check();
    // Those of the next one are added to them.
    await client.delete('/v1/users/user-2').expect(202);
    await compactUsageCounters(service.database);
    const { items } = await report('?by=user');
    expect(items).toEqual([{ user_id: null, ...erased, recordings_count: 3, total_duration_seconds: 0.6 }]);
  });

  it('keeps the figures of keys and end users for 400 days', async () => {
    const add = (days: number) =>
      service.database.query(
        `INSERT INTO usage_breakdowns (account_id, dimension, value, day, accepted, transcribed, failed, duration_ms, bytes)
         VALUES ($1, 'user', 'old', $2, 1, 0, 0, 0, 0)`,
        [client.accountId, dayBefore(days)],
      );
    for (const days of [364, 399, 401, 500]) await add(days);
    while ((await deleteOldBreakdowns(service.database, 1)) > 0);
    const rows = await service.database.query('SELECT 1 FROM usage_breakdowns WHERE account_id = $1', [
      client.accountId,
    ]);
    expect(rows).toHaveLength(2);
    expect((await report('?by=user&days=365')).items).toEqual([expect.objectContaining({ recordings_count: 1 })]);
  });
});
