import { v7 as uuidv7 } from 'uuid';
import {
  deleteIdempotencyKeysOf,
  deleteRecordingsOfUser,
} from '../../../src/modules/recordings/recording-erasure.service.js';
import { lockRecording, reopenFailed, requestRerun } from '../../../src/modules/recordings/recordings.queries.js';
import { selectTagged } from '../../../src/modules/recordings/search/recording-search.queries.js';
import { findWaveform } from '../../../src/modules/recordings/waveform/waveforms.service.js';
import { useService } from '../../../src/testing/test-service.js';
import { locksInOrder } from '../../support/state/held-rows.js';

const NONE = { listed: 0, accepted: 0, duration_ms: 0, bytes: 0, queued_ms: 0, transcribed: 0, failed: 0 };

describe('the rows of recordings', () => {
  const service = useService({ ROLES: 'api' });
  let accountId: string;
  let strangerId: string;

  beforeEach(async () => {
    ({ accountId } = await service.account());
    ({ accountId: strangerId } = await service.account());
  });

  const query = <Row>(sql: string, parameters: unknown[] = []) => service.database.query<Row>(sql, parameters);

  async function insert(columns: Record<string, unknown> = {}): Promise<string> {
    const id = uuidv7();
    const status = columns.status ?? 'processing';
    const row: Record<string, unknown> = {
      id,
      account_id: accountId,
      user_id: 'ada',
      original_filename: 'a.wav',
      object_key: id,
      bucket: 'b',
      duration_ms: 1000,
      file_size_bytes: 10,
      audio_format: 'wav',
      upload_source: 'api',
      status,
      created_at: '2026-01-02T12:00:00Z',
      updated_at: '2026-01-02T12:00:00Z',
      processed_at: status === 'processing' ? null : '2026-01-02T12:00:00Z',
      features: status === 'transcribed' ? '{}' : null,
      failure_reason: status === 'failed' ? 'x' : null,
      ...columns,
    };
    const values = Object.keys(row).map((_, i) => `$${i + 1}`);
    await query(
      `INSERT INTO recordings (${Object.keys(row).join(', ')}) VALUES (${values.join(', ')})`,
      Object.values(row),
    );
    return id;
  }

  describe('of an end user, when they are erased', () => {
    const erase = (count: number) =>
      service.database.transact((tx) => deleteRecordingsOfUser(tx, { accountId, userId: 'ada', until: 'now' }, count));
    const left = async () => (await query<{ id: string }>('SELECT id FROM recordings')).map(({ id }) => id);

    it('go the newest first, so many at a time, and those of nobody else', async () => {
      const oldest = await insert({ created_at: '2026-01-01T00:00:00Z' });
      const [low, high] = [await insert(), await insert()].toSorted() as [string, string];
      const others = [await insert({ user_id: 'eve' }), await insert({ user_id: null })];
      others.push(await insert({ account_id: strangerId }));
      const [gone] = await erase(1);
      expect(gone).toMatchObject({ id: high, accountId, userId: 'ada', objectKey: high, status: 'processing' });
      expect(await left()).toContain(low);
      expect((await erase(10)).map(({ id }) => id).toSorted()).toEqual([oldest, low].toSorted());
      expect(await erase(10)).toEqual([]);
      const remaining = await left();
      for (const id of others) expect(remaining).toContain(id);
    });

    it('are counted out of the totals, the stored bytes and the queue, and stay in the usage', async () => {
      const key = uuidv7();
      await insert({ duration_ms: 1, file_size_bytes: 10 });
      await insert({ duration_ms: 2, file_size_bytes: 20 });
      const rerun = { status: 'transcribed', rerun: 'requested', rerun_at: '2026-01-03T00:00:00Z' };
      await insert({ ...rerun, duration_ms: 4, file_size_bytes: 40 });
      await insert({ status: 'transcribed', duration_ms: 8, file_size_bytes: 80 });
      await insert({ status: 'failed', duration_ms: 16, file_size_bytes: 160, created_at: '2026-01-01T23:59:59Z' });
      await insert({ status: 'failed', duration_ms: 32, file_size_bytes: 320, key_id: key });
      await erase(10);
      const deltas = await query(
        `SELECT day::text, status, listed::int, accepted::int, duration_ms::int, bytes::int, queued_ms::int,
           transcribed::int, failed::int, key_id, user_id
         FROM usage_counter_deltas WHERE account_id = $1 ORDER BY day, status, key_id NULLS FIRST`,
        [accountId],
      );
      const delta = { ...NONE, day: '2026-01-02', key_id: null, user_id: null };
      expect(deltas).toEqual([
        { ...delta, day: '2026-01-01', status: 'failed', listed: -1, bytes: -160 },
        { ...delta, status: 'failed', listed: -1, bytes: -320, key_id: key },
        { ...delta, status: 'processing', listed: -2, bytes: -30, queued_ms: -3 },
        { ...delta, status: 'transcribed', listed: -2, bytes: -120, queued_ms: -4 },
      ]);
    });

    it('have their audio removed at once', async () => {
      const id = await insert();
      await erase(10);
      const [row] = await query<{ due: boolean }>(
        'SELECT remove_after <= now() AS due FROM object_removals WHERE object_key = $1',
        [id],
      );
      expect(row).toEqual({ due: true });
    });

    it('are locked in the order in which they go, so that two erasures cannot deadlock', async () => {
      const older = await insert({ created_at: '2026-01-01T00:00:00Z' });
      const newer = await insert();
      expect(await locksInOrder(service.database, 'recordings', [newer, older], () => erase(10))).toBe(true);
    });

    it('take their idempotency keys along, so many at a time', async () => {
      const add = (account: string, identity: string, key: string) =>
        query(
          `INSERT INTO idempotency_keys (account_id, identity, key, fingerprint, recording_id, created_at)
           VALUES ($1, $2, $3, 'f', gen_random_uuid(), now())`,
          [account, identity, key],
        );
      for (const key of ['a', 'b', 'c']) await add(accountId, 'ada', key);
      await add(accountId, 'eve', 'a');
      await add(strangerId, 'ada', 'a');
      const forget = () => deleteIdempotencyKeysOf(service.database, { accountId, userId: 'ada', until: 'now' }, 2);
      expect([await forget(), await forget(), await forget()]).toEqual([2, 1, 0]);
      const kept = 'SELECT FROM idempotency_keys WHERE account_id = ANY ($1)';
      expect(await query(kept, [[accountId, strangerId]])).toHaveLength(2);
    });
  });

  it('belong to one account: nobody else reads, locks or changes them', async () => {
    const id = await insert({ custom_tags: '{"a":"b"}' });
    const [failed, transcribed] = [await insert({ status: 'failed' }), await insert({ status: 'transcribed' })];
    const [own, stranger] = [accountId, strangerId];
    const { database } = service;
    expect(await findWaveform(database, { accountId: own, id })).toMatchObject({ status: 'processing', peaks: null });
    expect(await findWaveform(database, { accountId: stranger, id })).toBeNull();
    expect(await selectTagged(database, own, id)).toEqual({
      id,
      accountId: own,
      userId: 'ada',
      customTags: '{"a":"b"}',
    });
    expect(await selectTagged(database, stranger, id)).toBeNull();
    await database.transact(async (tx) => {
      expect(await lockRecording(tx, { accountId: stranger, id })).toBeNull();
      expect((await lockRecording(tx, { accountId: own, id }))?.id).toBe(id);
      expect(await reopenFailed(tx, { accountId: stranger, id: failed }, {})).toBeNull();
      expect(await requestRerun(tx, { accountId: stranger, id: transcribed }, {})).toBeNull();
    });
  });

  it('begin a new run without the attempts, the faults and the lease of the one before', async () => {
    const before = { attempt: 4, faults: 3, lease_until: '2026-01-02T12:00:00Z', requested_engine: 'old' };
    const requested = { ...before, language: 'german', vocabulary: ['Zoë'] };
    const [failed, transcribed, wishing] = [
      await insert({ ...requested, status: 'failed' }),
      await insert({ ...requested, status: 'transcribed' }),
      await insert({ ...requested, status: 'failed' }),
    ];
    await service.database.transact(async (tx) => {
      const fresh = { attempt: 0, faults: 0, leaseUntil: null, requestedEngine: null, language: 'german' };
      const reopened = await reopenFailed(tx, { accountId, id: failed }, {});
      expect(reopened).toMatchObject({ ...fresh, vocabulary: ['Zoë'], status: 'processing', run: 2 });
      expect(reopened).toMatchObject({ processedAt: null, features: null, failureReason: null });
      expect(Date.now() - (reopened?.updatedAt.getTime() ?? 0)).toBeLessThan(600_000);
      const again = await requestRerun(tx, { accountId, id: transcribed }, {});
      expect(again).toMatchObject({ ...fresh, vocabulary: ['Zoë'], status: 'transcribed', run: 1, rerun: 'requested' });
      expect(Date.now() - (again?.rerunAt?.getTime() ?? 0)).toBeLessThan(600_000);
      const options = { engine: 'openai', language: 'english', vocabulary: [] };
      expect(await reopenFailed(tx, { accountId, id: wishing }, options)).toMatchObject({
        requestedEngine: 'openai',
        language: 'english',
        vocabulary: null,
      });
      expect(await reopenFailed(tx, { accountId, id: wishing }, options)).toBeNull();
      expect(await requestRerun(tx, { accountId, id: transcribed }, {})).toBeNull();
    });
  });

  it('are taken out of the background by a request, and not out of the hands of a worker', async () => {
    const waiting = { status: 'transcribed', rerun: 'quiet', rerun_at: '2026-01-03T00:00:00Z' };
    const [quiet, leased] = [
      await insert(waiting),
      await insert({ ...waiting, lease_token: uuidv7(), lease_until: '2026-01-03T00:00:00Z' }),
    ];
    await service.database.transact(async (tx) => {
      expect(await requestRerun(tx, { accountId, id: quiet }, {})).toMatchObject({ rerun: 'requested' });
      expect(await requestRerun(tx, { accountId, id: leased }, {})).toBeNull();
    });
  });
});
