import { randomUUID } from 'node:crypto';
import { RecordingLeasesService } from '../../src/modules/recordings/leases/recording-leases.service.js';
import { RetranscriptionsService } from '../../src/modules/transcriptions/retranscriptions.service.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { useService } from '../../src/testing/test-service.js';
import { checkRows } from '../support/check-rows.js';
import { insertRecordings } from '../support/state/inserted-rows.js';
import { fail, transcribe } from '../support/state/recording-states.js';

const api = useService({ ROLES: 'api' });
const COMMAND = { accountId: null, modelNot: 'new', since: '2026-01-10', rate: null, quiet: false };
let retranscriptions: RetranscriptionsService;
let leases: RecordingLeasesService;
/** Nobody else calls it in a service with ROLES=api. */
const round = () => retranscriptions.continueAll();

beforeAll(() => {
  retranscriptions = api.app.get(RetranscriptionsService);
  leases = api.app.get(RecordingLeasesService);
});

async function clear(): Promise<void> {
  await api.database.query('DELETE FROM recordings');
  await api.database.query('DELETE FROM retranscriptions');
}

beforeEach(clear);

interface Old {
  model?: string;
  /** Of the first; each further one is a millisecond older. */
  createdAt?: string;
  ms?: number;
}

/** Transcribed recordings, the newest first. @returns their ids. */
async function old(
  client: ApiClient,
  count: number,
  { model = 'old', createdAt = '2026-02-01T00:00:00Z', ms = 2000 }: Old = {},
) {
  const ids = await insertRecordings(
    api,
    client,
    {
      status: `'transcribed'`,
      duration_ms: `${ms}`,
      created_at: `'${createdAt}'::timestamptz - (i - 1) * interval '1 ms'`,
      attempt: '3',
      faults: '2',
      requested_engine: `'asked'`,
    },
    count,
  );
  await api.database.query(
    `INSERT INTO transcriptions (id, recording_id, account_id, text, confidence, language, provider, model,
       processing_duration_ms, words, revision, created_at, updated_at)
     SELECT gen_random_uuid(), id, account_id, 'old text', 1, 'english', 'p', $2, 1, '[]', 1, now(), now()
     FROM recordings WHERE id = ANY ($1)`,
    [ids, model],
  );
  return ids;
}

async function marked(client?: ApiClient) {
  return await api.database.query<{
    id: string;
    rerun: string;
    attempt: number;
    faults: number;
    engine: string | null;
  }>(
    `SELECT id, rerun, attempt, faults, requested_engine AS engine FROM recordings
     WHERE rerun IS NOT NULL AND ($1::uuid IS NULL OR account_id = $1) ORDER BY created_at DESC`,
    [client?.accountId ?? null],
  );
}

const idsOf = (rows: { id: string }[]): string[] => rows.map(({ id }) => id);

/** As if the workers had transcribed them. */
const unmark = () => api.database.query('UPDATE recordings SET rerun = NULL, rerun_at = NULL');
const since = (seconds: number) =>
  api.database.query('UPDATE retranscriptions SET marked_at = now() - make_interval(secs => $1)', [seconds]);
const progressOf = async (client: ApiClient) => (await retranscriptions.progress(client.accountId))[0];

describe('recordings of old models (D49)', () => {
  it('are those of another model that were created on the first day or later', async () => {
    const client = await api.account();
    const [first] = await old(client, 1, { createdAt: '2026-01-10T00:00:00Z' });
    await old(client, 1, { createdAt: '2026-01-09T23:59:59.999Z' });
    await old(client, 1, { model: 'new' });
    await old(client, 1, { createdAt: '2100-01-01T00:00:00Z' });
    expect(await retranscriptions.begin(COMMAND)).toEqual([{ accountId: client.accountId, total: 1 }]);
    await round();
    expect(await marked()).toEqual([{ id: first, rerun: 'background', attempt: 0, faults: 0, engine: null }]);
    expect(await progressOf(client)).toMatchObject({ total: 1, pending: 1, done: 0, failed: 0, endedAt: null });
    await round();
    expect(await progressOf(client)).toMatchObject({ pending: 1, endedAt: null });
    await unmark();
    await round();
    expect(await progressOf(client)).toMatchObject({ pending: 0, done: 1, isCanceled: false });
    expect((await progressOf(client))?.endedAt).toBeInstanceOf(Date);
  });

  it('are marked quiet, of one account, where the command says so', async () => {
    const [client, other] = [await api.account(), await api.account()];
    const ids = await old(client, 12);
    await old(other, 1);
    await retranscriptions.begin({ ...COMMAND, accountId: client.accountId, quiet: true });
    await round();
    expect(await marked()).toMatchObject(ids.map((id) => ({ id, rerun: 'quiet' })));
    expect(await retranscriptions.progress(null)).toMatchObject([{ accountId: client.accountId, quiet: true }]);
  });

  it('of an account are begun once at a time, and counted anew the next time', async () => {
    const [client, other] = [await api.account(), await api.account()];
    await old(client, 2);
    await retranscriptions.begin(COMMAND);
    await round();
    await api.database.transact((tx) => retranscriptions.countFailure(tx, client.accountId));
    await old(other, 1);
    expect(await retranscriptions.begin(COMMAND)).toEqual([{ accountId: other.accountId, total: 1 }]);
    expect(await progressOf(other)).toMatchObject({ failed: 0 });
    expect(await progressOf(client)).toMatchObject({ failed: 1, pending: 2 });
    await unmark();
    await round();
    await api.database.transact((tx) => retranscriptions.countFailure(tx, client.accountId));
    expect(await progressOf(client)).toMatchObject({ failed: 1, done: 2 });
    expect(await retranscriptions.begin({ ...COMMAND, rate: 6, quiet: true })).toHaveLength(1);
    const again = { total: 2, done: 0, failed: 0, pending: 0, endedAt: null, isCanceled: false, rate: 6, quiet: true };
    expect(await progressOf(client)).toMatchObject(again);
  });

  it('leave out those that are being transcribed again already, and the rest follows', async () => {
    const client = await api.account();
    const [asked, ...others] = await old(client, 25);
    await api.database.query(`UPDATE recordings SET rerun = 'requested', rerun_at = now() WHERE id = $1`, [asked]);
    await retranscriptions.begin(COMMAND);
    await round();
    expect((await marked()).filter(({ rerun }) => rerun === 'background').map(({ id }) => id)).toEqual(others);
    expect(await progressOf(client)).toMatchObject({ pending: 24 });
  });

  it('are found behind more than a statement looks at', async () => {
    const client = await api.account();
    await old(client, 2100, { model: 'new' });
    const ids = await old(client, 2, { createdAt: '2026-01-20T00:00:00Z' });
    await retranscriptions.begin(COMMAND);
    await round();
    expect(idsOf(await marked())).toEqual(ids);
  });

  it('wait while their account is on hold', async () => {
    const client = await api.account();
    await old(client, 1);
    await retranscriptions.begin(COMMAND);
    await api.database.query(`UPDATE accounts SET status = 'suspended' WHERE id = $1`, [client.accountId]);
    await round();
    expect(await marked()).toEqual([]);
  });
});

describe('a round of the reconciler (D49)', () => {
  it('has no more than 500 wait, ten of each account in turn', async () => {
    const [many, few] = [await api.account(), await api.account()];
    await old(many, 520);
    await old(few, 30);
    await retranscriptions.begin(COMMAND);
    await round();
    expect([(await marked(many)).length, (await marked(few)).length]).toEqual([470, 30]);
    await round();
    expect(await marked()).toHaveLength(500);
    const [one] = await marked(many);
    await api.database.query('UPDATE recordings SET rerun = NULL, rerun_at = NULL WHERE id = $1', [one?.id]);
    await round();
    expect(await marked()).toHaveLength(500);
  });

  it('takes the account with the least audio first', async () => {
    const [one, another] = [await api.account(), await api.account()];
    await old(one, 2);
    await old(another, 2);
    await retranscriptions.begin({ ...COMMAND, rate: 20 });
    for (const least of [one, another]) {
      await api.database.query('UPDATE retranscriptions SET marked_ms = CASE account_id WHEN $1 THEN 10 ELSE 11 END', [
        least.accountId,
      ]);
      await since(3);
      await round();
      expect(await marked()).toHaveLength(1);
      expect(await marked(least)).toHaveLength(1);
      await unmark();
    }
    const audio = await api.database.query('SELECT marked_ms::int AS ms FROM retranscriptions ORDER BY 1');
    expect(audio).toEqual([{ ms: 11 }, { ms: 2010 }]);
  });

  it('marks as many as belong to the rate a minute of the command, of all its accounts together', () =>
    checkRows<[rate: number, seconds: number, count: number]>(
      [
        [20, 3, 1],
        [20, 2, 0],
        [60, 9.1, 9],
        // Never more wait than belong to ten seconds.
        [60, 3600, 10],
        [7, 3600, 2],
        // A rate of one a minute has one wait.
        [1, 3600, 1],
        [1, 59, 0],
      ],
      async (rate, seconds, count) => {
        await clear();
        for (const client of [await api.account(), await api.account()]) await old(client, 30);
        await retranscriptions.begin({ ...COMMAND, rate });
        await since(seconds);
        for (let rounds = 0; rounds < 2; rounds++) {
          await round();
          expect(await marked()).toHaveLength(count);
        }
      },
    ));

  it('gives ten to each account of a command in turn, and waits where as many wait as belong to its rate', async () => {
    const [one, another] = [await api.account(), await api.account()];
    await old(one, 30);
    await old(another, 30);
    await retranscriptions.begin({ ...COMMAND, rate: 90 });
    const lengths = async () => [(await marked(one)).length, (await marked(another)).length].toSorted((a, b) => a - b);
    for (let rounds = 0; rounds < 2; rounds++) {
      await since(60);
      await round();
      expect(await lengths()).toEqual([5, 10]);
    }
    await api.database.query('UPDATE recordings SET rerun = NULL, rerun_at = NULL WHERE id = $1', [
      (await marked())[0]?.id,
    ]);
    await since(60);
    await round();
    expect(await marked()).toHaveLength(15);
  });
});

describe('the end of a run that repeats another', () => {
  it('is one run further, holds no lease and has the length that was decoded', async () => {
    const client = await api.account();
    const [id = ''] = await old(client, 1);
    const day = `interval '1 day'`;
    await api.database.query(`UPDATE recordings SET processed_at = now() - ${day}, updated_at = now() - ${day}`);
    await client.post(`/v1/recordings/${id}/transcribe`, {}).expect(202);
    await transcribe(api, id, { durationMs: 3500 });
    const rows = await api.database.query(
      `SELECT status, run, duration_ms, rerun, rerun_at, lease_token, lease_until,
         least(processed_at, updated_at) > now() - interval '1 minute' AS now FROM recordings`,
    );
    const free = { rerun: null, rerun_at: null, lease_token: null, lease_until: null };
    expect(rows).toEqual([{ ...free, status: 'transcribed', run: 2, duration_ms: 3500, now: true }]);
  });

  it('is told where the operator has asked for it unless that is quiet, and never a failure', () =>
    checkRows([[true], [false]], async (quiet) => {
      await clear();
      const client = await api.account();
      const [heard, failed] = (await old(client, 2)) as [string, string];
      await retranscriptions.begin({ ...COMMAND, quiet });
      await round();
      await transcribe(api, heard);
      await fail(api, failed);
      const told = await api.database.query<{ id: string }>(
        'SELECT recording_id AS id FROM events WHERE account_id = $1',
        [client.accountId],
      );
      expect(idsOf(told)).toEqual(quiet ? [] : [heard]);
      expect(await progressOf(client)).toMatchObject({ done: 2, failed: 1, pending: 0 });
    }));
});

describe('what is canceled (D49)', () => {
  it('is no longer marked but where a worker has begun, and is said to be canceled', async () => {
    const [client, other] = [await api.account(), await api.account()];
    const ids = await old(client, 3);
    const others = await old(other, 2);
    await retranscriptions.begin(COMMAND);
    await round();
    const begun = await leases.claimBackground();
    const canceled = begun?.accountId === client.accountId ? [client, other] : [other, client];
    const [own, stranger] = canceled as [ApiClient, ApiClient];
    await api.database.query(`UPDATE recordings SET lease_until = now() + interval '1 h' WHERE lease_token IS NULL`);
    expect(await retranscriptions.cancel(own.accountId)).toBe(1);
    expect(idsOf(await marked(own))).toEqual([begun?.id]);
    expect(idsOf(await marked(stranger))).toEqual(stranger === client ? ids : others);
    expect(await progressOf(own)).toMatchObject({ isCanceled: true, endedAt: expect.any(Date) });
    expect(await progressOf(stranger)).toMatchObject({ isCanceled: false, endedAt: null });
    const left = await api.database.query(
      'SELECT FROM recordings WHERE account_id = $1 AND rerun IS NULL AND lease_until IS NOT NULL',
      [own.accountId],
    );
    expect(left).toEqual([]);
    expect(await retranscriptions.cancel(null)).toBe(1);
    expect(await retranscriptions.cancel(randomUUID())).toBe(0);
    expect(await marked(stranger)).toEqual([]);
  });

  it('leaves what the account itself has asked for, and can be begun again', async () => {
    const client = await api.account();
    const [asked] = await old(client, 2);
    await api.database.query(`UPDATE recordings SET rerun = 'requested', rerun_at = now() WHERE id = $1`, [asked]);
    await retranscriptions.begin(COMMAND);
    await round();
    await retranscriptions.cancel(null);
    expect(await marked()).toMatchObject([{ id: asked, rerun: 'requested' }]);
    await retranscriptions.begin(COMMAND);
    expect(await progressOf(client)).toMatchObject({ isCanceled: false, endedAt: null });
  });
});
