import { RecordingLeasesService } from '../../src/modules/recordings/leases/recording-leases.service.js';
import { RetranscriptionsService } from '../../src/modules/transcriptions/retranscriptions.service.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { useService } from '../../src/testing/test-service.js';
import { claimRecording, fail, transcribe, upload } from '../support/state/recording-states.js';

const api = useService({ ROLES: 'api' });
const SPOKEN = { text: 'hello there', durationMs: 2500 };
let client: ApiClient;

beforeEach(async () => {
  client = await api.account();
});

async function rowOf(id: string) {
  const [row] = await api.database.query<Record<string, unknown>>(
    `SELECT status, run, duration_ms, rerun, rerun_at, lease_token, lease_until, failure_reason,
       processed_at > now() - interval '1 minute' AS is_processed, updated_at > now() - interval '1 minute' AS is_updated
     FROM recordings WHERE id = $1`,
    [id],
  );
  return row;
}

/** As if everything had happened a day ago. */
const age = (id: string) =>
  api.database.query(
    `UPDATE recordings SET processed_at = processed_at - interval '1 day', updated_at = updated_at - interval '1 day'
     WHERE id = $1`,
    [id],
  );

const FREE = { rerun: null, rerun_at: null, lease_token: null, lease_until: null };

async function lastEventOf(id: string) {
  const [row] = await api.database.query<{ body: string; run: number }>(
    `SELECT body, run FROM events WHERE recording_id = $1 ORDER BY run DESC, created_at DESC LIMIT 1`,
    [id],
  );
  return JSON.parse(row?.body ?? '{}') as {
    event: string;
    timestamp: string;
    error?: { message: string };
  };
}

describe('a recording whose run has ended', () => {
  it('holds no lease, and says when and how it ended', async () => {
    const [heard, failed] = [await upload(client), await upload(client)];
    for (const id of [heard, failed]) await age(id);
    await transcribe(api, heard, SPOKEN);
    await fail(api, failed, 'It cannot be decoded');
    const ended = { ...FREE, run: 1, is_processed: true, is_updated: true };
    expect(await rowOf(heard)).toEqual({ ...ended, status: 'transcribed', duration_ms: 2500, failure_reason: null });
    expect(await rowOf(failed)).toEqual({
      ...ended,
      status: 'failed',
      duration_ms: 100,
      failure_reason: 'It cannot be decoded',
    });
  });

  it('is one run further after it was transcribed again', async () => {
    const id = await upload(client);
    await transcribe(api, id, SPOKEN);
    await age(id);
    await client.post(`/v1/recordings/${id}/transcribe`, {}).expect(202);
    await transcribe(api, id, { ...SPOKEN, durationMs: 3500 });
    const ended = { ...FREE, run: 2, is_processed: true, is_updated: true };
    expect(await rowOf(id)).toEqual({ ...ended, status: 'transcribed', duration_ms: 3500, failure_reason: null });
  });

  it('stays as it was when that failed, and its event says when and why', async () => {
    const id = await upload(client);
    await transcribe(api, id, SPOKEN);
    await age(id);
    await client.post(`/v1/recordings/${id}/transcribe`, {}).expect(202);
    await fail(api, id, 'the engine is gone');
    const { is_updated: _, ...row } = (await rowOf(id)) ?? {};
    expect(row).toEqual({
      ...FREE,
      run: 2,
      status: 'transcribed',
      duration_ms: 2500,
      failure_reason: null,
      is_processed: false,
    });
    const { event, timestamp, error } = await lastEventOf(id);
    expect([event, error?.message]).toEqual([
      'recording.failed',
      'Transcribing again failed, and the present text stays: the engine is gone',
    ]);
    expect(Date.now() - Date.parse(timestamp)).toBeLessThan(60_000);
  });

  it.each([false, true])(
    'tells of what the operator has asked for unless that is quiet (%s), never of a failure',
    async (quiet) => {
      const [heard, failed] = [await upload(client), await upload(client)];
      for (const id of [heard, failed]) await transcribe(api, id, SPOKEN);
      const retranscriptions = api.app.get(RetranscriptionsService);
      const command = { accountId: client.accountId, modelNot: 'newer', since: '2020-01-01', rate: null, quiet };
      await retranscriptions.begin(command);
      await retranscriptions.continueAll();
      await transcribe(api, heard, SPOKEN);
      await fail(api, failed);
      const told = await api.database.query<{ recording_id: string }>(
        'SELECT recording_id FROM events WHERE account_id = $1 AND run = 2',
        [client.accountId],
      );
      expect(told.map((row) => row.recording_id)).toEqual(quiet ? [] : [heard]);
      expect(await retranscriptions.progress(client.accountId)).toMatchObject([{ done: 2, failed: 1, pending: 0 }]);
    },
  );
});

describe('the share of an account (D33)', () => {
  /** What an account was charged for ten seconds of which so many milliseconds were decoded. */
  async function chargedFor(durationMs: number): Promise<number | undefined> {
    const id = await upload(client);
    await api.database.query('DELETE FROM transcription_shares');
    await api.database.query(
      'INSERT INTO transcription_shares (account_id, virtual_start, virtual_end) VALUES ($1, 0, 10000)',
      [client.accountId],
    );
    await api.database.query('UPDATE recordings SET duration_ms = 10000 WHERE id = $1', [id]);
    await transcribe(api, id, { ...SPOKEN, durationMs });
    const [row] = await api.database.query<{ end: number }>(
      'SELECT virtual_end::int AS end FROM transcription_shares WHERE account_id = $1',
      [client.accountId],
    );
    return row?.end;
  }

  it.each([
    [10_000, 10_000],
    [10_999, 10_000],
    [11_000, 11_000],
    [15_000, 15_000],
    [9_001, 10_000],
    [9_000, 9_000],
    [2_000, 2_000],
  ])('is corrected where %s ms were decoded: %s', async (decoded, charged) => {
    expect(await chargedFor(decoded)).toBe(charged);
  });

  it('is not corrected by what was lost or failed', async () => {
    const leases = api.app.get(RecordingLeasesService);
    const id = await upload(client);
    const lease = await claimRecording(api, id);
    if (!lease) throw new Error('it was not claimed');
    await api.database.query(
      `INSERT INTO transcription_shares (account_id, virtual_start, virtual_end) VALUES ($1, 0, 10000)
       ON CONFLICT (account_id) DO UPDATE SET virtual_end = 10000`,
      [client.accountId],
    );
    await leases.finish(
      { ...lease, leaseToken: '019aa5c1-1f20-7d11-8a34-1b5f6c7d8e9f' },
      { status: 'failed', reason: 'x' },
    );
    await leases.finish(lease, { status: 'failed', reason: 'x' });
    const shares = await api.database.query(
      'SELECT virtual_end::int AS end FROM transcription_shares WHERE account_id = $1',
      [client.accountId],
    );
    expect(shares).toEqual([{ end: 10_000 }]);
  });
});
