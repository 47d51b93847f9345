import { randomUUID } from 'node:crypto';
import request from 'supertest';
import {
  claimFairest,
  MIN_COST_MS,
  unmarkIdleAccounts,
} from '../../src/modules/recordings/leases/recording-claims.queries.js';
import { type Lease, RecordingLeasesService } from '../../src/modules/recordings/leases/recording-leases.service.js';
import { reopenFailed } from '../../src/modules/recordings/recordings.queries.js';
import { countUnserved } from '../../src/modules/transcriptions/engines/unserved-recordings.service.js';
import { DatabaseService } from '../../src/platform/database/database.service.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { useService } from '../../src/testing/test-service.js';
import { checkRows } from '../support/check-rows.js';
import { reportMeasurement } from '../support/service/measurements.js';
import { insertRecordings } from '../support/state/inserted-rows.js';
import { costOf as costOfStatement } from '../support/state/statement-cost.js';

const api = useService({ ROLES: 'api' });
let leases: RecordingLeasesService;

beforeAll(() => {
  leases = api.app.get(RecordingLeasesService);
});

beforeEach(async () => {
  await api.database.query('DELETE FROM recordings');
});

/** Transcribed recordings of a day ago that are to be transcribed again, since so many seconds ago. */
const toRepeat = (client: ApiClient, count: number, rerun: 'requested' | 'background', secondsAgo = 0) =>
  insertRecordings(
    api,
    client,
    {
      status: `'transcribed'`,
      duration_ms: '10000',
      rerun: `'${rerun}'`,
      rerun_at: `now() - make_interval(secs => ${secondsAgo} - i * 0.001)`,
      created_at: `now() - interval '1 day'`,
    },
    count,
  );

/** Recordings that wait, the first one the oldest. */
const waiting = (client: ApiClient, count: number, seconds = 10) =>
  insertRecordings(
    api,
    client,
    { duration_ms: `${seconds * 1000}`, created_at: `now() - make_interval(secs => ${count} - i)` },
    count,
  );

const set = (id: string | undefined, assignments: string) =>
  api.database.query(`UPDATE recordings SET ${assignments} WHERE id = $1`, [id]);
const suspend = ({ accountId }: ApiClient) =>
  api.database.query(`UPDATE accounts SET status = 'suspended' WHERE id = $1`, [accountId]);

/** Ends the run of a recording without words. */
async function finish(lease: Lease, durationMs: number, features: object = {}): Promise<boolean> {
  const words = { text: '', confidence: 1, language: 'english', provider: 'p', model: 'm', words: [] };
  return await leases.finish(lease, {
    status: 'transcribed',
    transcript: { ...words, processingDurationMs: 1 },
    features: { speech_seconds: 0, no_speech: true, ...features },
    durationMs,
    peaks: Buffer.alloc(0),
  });
}

/** Milliseconds that the account was charged; undefined before its first claim. */
async function costOf({ accountId }: ApiClient): Promise<number | undefined> {
  const [share] = await api.database.query<{ cost: number }>(
    'SELECT (virtual_end - virtual_start)::float8 AS cost FROM transcription_shares WHERE account_id = $1',
    [accountId],
  );
  return share?.cost;
}

async function claimed(claim = leases.claimNext()): Promise<Lease> {
  const lease = await claim;
  if (!lease) throw new Error('nothing was claimed');
  return lease;
}

async function claimAll(count: number): Promise<Lease[]> {
  const all = [];
  for (let i = 0; i < count; i++) all.push(await claimed());
  return all;
}

describe('D33: claims', () => {
  it('take the oldest recording of an account first, and a released one at its old place', async () => {
    // More than the eight that a claim considers of an account.
    const ids = await waiting(await api.account(), 12);
    const [first, second] = await claimAll(2);
    expect([first?.id, second?.id]).toEqual(ids.slice(0, 2));
    await leases.release(second as Lease);
    expect((await leases.claimNext())?.id).toBe(ids[1]);
    await set(ids[0], `lease_until = now() - interval '1 s'`);
    expect((await leases.claimNext())?.id).toBe(ids[0]);
  });

  it('share the engines by seconds of audio, whoever came first and however long the recordings are', async () => {
    const accounts = await Promise.all([api.account(), api.account(), api.account()]);
    for (const [i, seconds] of [160, 40, 10].entries()) await waiting(accounts[i] as ApiClient, 200, seconds);
    const given = new Map(accounts.map(({ accountId }) => [accountId, 0]));
    for (const { accountId, durationMs } of await claimAll(210)) {
      given.set(accountId, (given.get(accountId) as number) + durationMs / 1000);
    }
    const seconds = [...given.values()];
    expect(Math.max(...seconds) - Math.min(...seconds)).toBeLessThanOrEqual(160);
    expect(Math.min(...seconds)).toBeGreaterThan(1500);
  });

  it('take an account that had nothing to do next, without credit for that time', async () => {
    const [busy, idle] = await Promise.all([api.account(), api.account()]);
    await waiting(busy, 50, 100);
    await claimAll(20);
    await waiting(idle, 20, 100);
    const owners = (await claimAll(10)).map(({ accountId }) => accountId);
    expect(owners[0]).toBe(idle.accountId);
    expect(owners.filter((owner) => owner === busy.accountId).length).toBeGreaterThanOrEqual(4);
  });

  it('charge an account that had nothing to do from where the others are', async () => {
    const [busy, idle] = await Promise.all([api.account(), api.account()]);
    await waiting(idle, 1);
    await claimAll(1);
    await waiting(busy, 5, 100);
    await claimAll(5);
    await waiting(idle, 1);
    expect(await claimAll(1)).toMatchObject([{ accountId: idle.accountId }]);
    expect(await costOf(idle)).toBe(10_000);
  });

  it('leave out the given accounts', async () => {
    const [busy, other] = await Promise.all([api.account(), api.account()]);
    await waiting(busy, 3);
    expect(await leases.claimNext({ exceptAccounts: [busy.accountId] })).toBeNull();
    const [id] = await waiting(other, 1);
    expect((await leases.claimNext({ exceptAccounts: [busy.accountId] }))?.id).toBe(id);
  });

  it('take what is to be transcribed again in the order of the requests, as fairly as uploads (D49)', async () => {
    const [client, other] = [await api.account(), await api.account()];
    const uploads = await waiting(client, 3);
    const [between] = await toRepeat(client, 1, 'requested', 0.5);
    const taken = (await claimAll(4)).map(({ id, rerun }) => [id, rerun]);
    expect(taken).toEqual([
      [uploads[0], null],
      [uploads[1], null],
      [between, 'requested'],
      [uploads[2], null],
    ]);
    expect(await leases.claimNext()).toBeNull();

    await toRepeat(client, 10, 'requested');
    await waiting(other, 10);
    const owners = (await claimAll(10)).map(({ accountId }) => accountId);
    expect(owners.filter((owner) => owner === client.accountId).length).toBeGreaterThan(2);
  });

  it('of the background are taken by no other, in their order, and charged to nobody (D49)', async () => {
    const [client, other] = [await api.account(), await api.account()];
    const [second, first] = await toRepeat(client, 2, 'background');
    // Marked first, although it was uploaded later.
    await set(first, `rerun_at = rerun_at - interval '1 minute', created_at = created_at + interval '1 hour'`);
    expect(await leases.claimNext()).toBeNull();
    const taken = [await leases.claimBackground(), await leases.claimBackground(), await leases.claimBackground()];
    expect(taken.map((lease) => lease?.id)).toEqual([first, second, undefined]);
    expect(await costOf(client)).toBeUndefined();
    const expire = (attempt: number) => set(second, `lease_until = now() - interval '1 s', attempt = ${attempt}`);
    await expire(19);
    expect(await leases.claimBackground([second as string])).toBeNull();
    expect(await leases.claimBackground()).toMatchObject({ id: second, attempt: 20 });
    await expire(20);
    expect(await leases.claimBackground()).toBeNull();
    await suspend(other);
    await toRepeat(other, 1, 'background');
    expect(await leases.claimBackground()).toBeNull();
  });

  it('of many workers at the same time each get a recording of their own', async () => {
    await waiting(await api.account(), 8);
    const claims = await Promise.all(Array.from({ length: 8 }, () => leases.claimNext()));
    const left = await claimAll(claims.filter((claim) => !claim).length);
    expect(new Set([...claims.filter(Boolean), ...left].map((lease) => lease?.id)).size).toBe(8);
  });

  it('charge what was decoded, not what the header said', async () => {
    const [liar, honest] = [await api.account(), await api.account()];
    await waiting(liar, 10, 1);
    await waiting(honest, 10, 60);
    const owners = [];
    for (let i = 0; i < 8; i++) {
      const lease = await claimed();
      owners.push(lease.accountId);
      await finish(lease, 60_000);
    }
    expect(owners.filter((owner) => owner === liar.accountId)).toHaveLength(4);
  });

  it('charge nothing for the background, nor take anything out of the queue, whatever was decoded (D49)', async () => {
    const client = await api.account();
    await waiting(client, 1, 10);
    await claimed();
    await toRepeat(client, 1, 'background');
    expect(await finish(await claimed(leases.claimBackground()), 60_000)).toBe(true);
    expect(await costOf(client)).toBe(10_000);
    const counted = await api.database.query(
      'SELECT sum(duration_ms)::int AS length, sum(queued_ms)::int AS queued FROM usage_counter_deltas WHERE account_id = $1',
      [client.accountId],
    );
    expect(counted).toEqual([{ length: 50_000, queued: 0 }]);
  });

  it('charge each channel that was heard', async () => {
    const [stereo, mono] = [await api.account(), await api.account()];
    await waiting(stereo, 6, 20);
    await waiting(mono, 6, 20);
    const owners = [];
    for (let i = 0; i < 6; i++) {
      const lease = await claimed();
      owners.push(lease.accountId);
      await finish(lease, 20_000, lease.accountId === stereo.accountId ? { channels: 2 } : {});
    }
    expect(owners.filter((owner) => owner === stereo.accountId)).toHaveLength(2);
  });

  it('correct the charge where a second or more was decoded than counted', () =>
    checkRows(
      [
        [10_000, 10_000],
        [10_999, 10_000],
        [11_000, 11_000],
        [15_000, 15_000],
        [9_001, 10_000],
        [9_000, 9_000],
        [2_000, 2_000],
      ],
      async (decodedMs, chargedMs) => {
        const client = await api.account();
        await waiting(client, 1, 10);
        await finish(await claimed(), decodedMs);
        expect(await costOf(client)).toBe(chargedMs);
      },
    ));

  it('correct nothing where the lease was lost or the run failed', async () => {
    const client = await api.account();
    await waiting(client, 1, 10);
    const lease = await claimed();
    expect(await finish({ ...lease, leaseToken: randomUUID() }, 2_000)).toBe(false);
    expect(await costOf(client)).toBe(10_000);
    await leases.finish(lease, { status: 'failed', reason: 'x' });
    expect(await costOf(client)).toBe(10_000);
  });

  it('leave out accounts of shared engines that do not work, and take those with engines of their own', async () => {
    const [shared, own] = await Promise.all([api.account(), api.account()]);
    await waiting(shared, 3);
    const [id] = await waiting(own, 1);
    await api.database.query(`UPDATE accounts SET engines = '[{"name":"x"}]' WHERE id = $1`, [own.accountId]);
    const except = { sharedEnginesDown: true, others: [] };
    expect(await leases.claimNext({ except })).toMatchObject({ id, accountEngines: [{ name: 'x' }] });
    expect(await leases.claimNext({ except })).toBeNull();
    expect(await leases.claimNext()).toMatchObject({ accountId: shared.accountId, accountEngines: null });
  });

  it('leave out postponed recordings, by language and length, however many accounts have only such', async () => {
    const accounts = await Promise.all(Array.from({ length: 20 }, () => api.account()));
    for (const account of accounts) await waiting(account, 2, 60);
    const mixed = accounts[7] as ApiClient;
    const [short] = await waiting(mixed, 1, 10);
    const [german] = await waiting(mixed, 1, 60);
    await set(german, `language = 'german'`);
    const others = accounts.map(({ accountId }) => ({ accountId, spoken: null, minDurationMs: 60_000 }));
    const claim = async () => (await leases.claimNext({ except: { sharedEnginesDown: false, others } }))?.id;
    expect(new Set([await claim(), await claim()])).toEqual(new Set([short, german]));
    expect(await claim()).toBeUndefined();
    const [asked] = await waiting(mixed, 1, 60);
    await set(asked, `requested_engine = 'x'`);
    expect(await claim()).toBe(asked);
  });

  it('that are given back leave the recording and its account as they were', async () => {
    const [first, second] = await Promise.all([api.account(), api.account()]);
    const ids = await waiting(first, 2, 100);
    const lease = await claimed();
    expect(lease.id).toBe(ids[0]);
    await leases.putBack(lease);
    await waiting(second, 1);
    // The older recording of the account that was not charged.
    expect(await leases.claimNext()).toMatchObject({ id: ids[0], attempt: 1 });
  });

  it('that are given back have cost nothing, also those of less than the least cost', async () => {
    const client = await api.account();
    await waiting(client, 1, 0.1);
    const lease = await claimed();
    expect(await costOf(client)).toBe(MIN_COST_MS);
    await leases.putBack(lease);
    expect(await costOf(client)).toBe(0);
  });

  it('find an account again whose queue was empty, whoever marks it meanwhile', async () => {
    const client = await api.account();
    const database = api.app.get(DatabaseService);
    const unmark = () => database.transact((tx) => unmarkIdleAccounts(tx, 100));
    const isMarked = async () =>
      (
        await api.database.query<{ marked: boolean }>(
          'SELECT is_waiting AS marked FROM transcription_shares WHERE account_id = $1',
          [client.accountId],
        )
      )[0]?.marked;
    const [id] = await waiting(client, 1);
    const lease = await claimed();
    await unmark();
    expect(await isMarked()).toBe(true);
    await leases.finish(lease, { status: 'failed', reason: 'silence' });
    // A retry that has not committed is not to be seen by others.
    await database.transact(async (tx) => {
      await reopenFailed(tx, { accountId: client.accountId, id: id as string }, {});
      await unmark();
    });
    expect(await claimAll(1)).toMatchObject([{ id }]);
    await api.database.query('DELETE FROM recordings');
    await unmark();
    expect(await isMarked()).toBe(false);
    // One that comes while the account is being unmarked waits, and marks it again.
    let upload: Promise<string[]> = Promise.resolve([]);
    await waiting(client, 1);
    await api.database.query('DELETE FROM recordings');
    await database.transact(async (tx) => {
      await unmarkIdleAccounts(tx, 100);
      upload = waiting(client, 1);
      await lockIsAwaited(database);
    });
    const [late] = await upload;
    expect(await claimAll(1)).toMatchObject([{ id: late }]);
    const [again] = await toRepeat(client, 1, 'background');
    await unmark();
    await set(again, `rerun = 'requested'`);
    expect(await claimAll(1)).toMatchObject([{ id: again }]);
  });

  it('cost the same with 10,000 accounts, and with 20,000 recordings of one, that wait', async () => {
    const [flooding, other] = await Promise.all([api.account(), api.account()]);
    const claim = { leaseToken: randomUUID(), leaseSeconds: 60, held: [], exceptAccounts: [] };
    const measure = async () => {
      await claimed();
      return await costOfStatement(api.app.get(DatabaseService), (runner) => claimFairest(runner, claim));
    };
    for (const client of [flooding, other]) await waiting(client, 100);
    const short = await measure();
    await waiting(flooding, 20_000);
    await toRepeat(other, 20_000, 'requested');
    await toRepeat(other, 500, 'background');
    await manyAccounts(10_000);
    await api.database.query('ANALYZE recordings, transcription_shares, accounts');
    const long = await measure();
    reportMeasurement(`a claim reads ${short.pages} pages with 200 waiting, ${long.pages} with 10,000 accounts`);
    expect(long.pages).toBeLessThan(1500);
    expect(long.scanned).toEqual([]);
    const unserved = await costOfStatement(api.app.get(DatabaseService), (runner) => countUnserved(runner, []));
    expect(unserved.scanned).not.toContain('recordings');
    // Those that are idle, or only held by workers, are passed by.
    await api.database.query(
      `UPDATE recordings SET lease_until = now() + interval '1 hour'
       WHERE account_id IN (SELECT account_id FROM transcription_shares ORDER BY virtual_end LIMIT 500)`,
    );
    const passing = await measure();
    reportMeasurement(`a claim reads ${passing.pages} pages behind 500 accounts that workers hold`);
    expect(passing.pages).toBeLessThan(8000);
    const postponed = { accountId: flooding.accountId, spoken: null, minDurationMs: 0 };
    const except = { sharedEnginesDown: false, others: [postponed] };
    for (let i = 0; i < 3; i++) expect((await leases.claimNext({ except }))?.accountId).not.toBe(flooding.accountId);
  });
});

describe('the metrics of the queue of recordings', () => {
  /** Recordings of which the oldest has waited for so many seconds. */
  const add = (client: ApiClient, count: number, seconds: number) =>
    insertRecordings(api, client, { created_at: `now() - make_interval(secs => ${seconds})` }, count);

  /** `recordings_waiting` and, in whole minutes, `recordings_waiting_seconds`. */
  async function queue(): Promise<[number, number]> {
    const { text } = await request(api.url).get('/metrics').expect(200);
    const valueOf = (name: string) => Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
    return [valueOf('recordings_waiting'), Math.floor(valueOf('recordings_waiting_seconds') / 60)];
  }

  it('count what waits, of all accounts, uploads and what is to be transcribed again', async () => {
    expect(await queue()).toEqual([0, 0]);
    const [first, second] = [await api.account(), await api.account()];
    await add(first, 3, 120);
    await add(second, 2, 300);
    expect(await queue()).toEqual([5, 5]);
    const { text } = await request(api.url).get('/metrics').expect(200);
    // Each of them lasts a second.
    expect(text).toMatch(/^recordings_waiting_audio_seconds 5$/m);
    await toRepeat(second, 1, 'requested', 601);
    expect(await queue()).toEqual([6, 10]);
  });

  it('leave out what a worker has, what is in the background, and suspended accounts', async () => {
    const [client, suspended] = [await api.account(), await api.account()];
    await add(client, 2, 120);
    await claimed();
    await toRepeat(client, 5, 'background', 6000);
    await add(suspended, 5, 6000);
    await suspend(suspended);
    expect(await queue()).toEqual([1, 2]);
  });

  it('count no more than 10,000 of an account', async () => {
    await add(await api.account(), 10_001, 120);
    await add(await api.account(), 1, 60);
    expect(await queue()).toEqual([10_001, 2]);
  });
});

/** Accounts with two recordings each that wait. */
async function manyAccounts(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1000) await thousandAccounts();
}

/** A busy machine takes longer for 10,000 than a statement may. */
async function thousandAccounts(): Promise<void> {
  await api.database.query(
    `WITH added AS (INSERT INTO accounts (id, name, email, status, plan, created_at, updated_at)
     SELECT gen_random_uuid(), 'One of many', i || '@example.com', 'active', 'free', now(), now()
     FROM generate_series(1, 1000) i RETURNING id)
     INSERT INTO recordings (id, account_id, original_filename, object_key, bucket, duration_ms, file_size_bytes,
       audio_format, upload_source, status, created_at, updated_at)
     SELECT gen_random_uuid(), a.id, 'a.wav', gen_random_uuid(), 'b', 1000, 1, 'wav', 'api', 'processing', now(), now()
     FROM added a, generate_series(1, 2)`,
  );
}

async function lockIsAwaited(database: DatabaseService): Promise<void> {
  await eventually(async () => (await database.query(`SELECT FROM pg_locks WHERE NOT granted`)).length > 0);
}
