import request from 'supertest';
import { AccountService } from '../../src/modules/account/account.service.js';
import { type Lease, RecordingLeasesService } from '../../src/modules/recordings/leases/recording-leases.service.js';
import { ObjectStore } from '../../src/platform/storage/object-store.js';
import { StorageUnavailableError } from '../../src/platform/storage/file-system.js';
import { RedisService } from '../../src/platform/redis/redis.service.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { startService, useService } from '../../src/testing/test-service.js';
import { silenceWav, silentMp3 } from '../support/audio/audio-bytes.js';
import { encoded } from '../support/audio/encoded.js';
import { expectError, statusesOf } from '../support/http/expect-errors.js';
import { filePart, FORM_TYPE } from '../support/http/multipart.js';
import { type Header, head, RawConnection } from '../support/http/clients/raw-http.js';
import { scriptedEngine } from '../support/service/test-engines.js';
import { claimRecording, fail, transcribe } from '../support/state/recording-states.js';

const engine = scriptedEngine();
/** Nothing is transcribed unless a test does it. */
const service = useService({ ROLES: 'api' }, { extensions: [engine.extension] });

type Quotas = NonNullable<Parameters<AccountService['update']>[1]['quotas']>;
type QuotaList = { quota: string; limit: number | null; used: number; resets_at: string | null }[];

const NOTE = silenceWav(1);

async function account(quotas: Quotas): Promise<ApiClient> {
  const client = await service.account();
  await service.app.get(AccountService).update(client.accountId, { quotas });
  return client;
}

async function quota(client: ApiClient, name: string) {
  const { body } = await client.get('/v1/account/quotas').expect(200);
  return (body.quotas as QuotaList).find((item) => item.quota === name);
}

/** More uploads than fit, all at once. */
async function uploadAtOnce(client: ApiClient, times: number): Promise<string[]> {
  const answers = await Promise.all(Array.from({ length: times }, () => client.upload(NOTE)));
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    expect(answer.body.error).toMatchObject({ code: 1005, type: 'QuotaExceededError' });
  }
  return answers.flatMap(({ status, body }) => (status === 201 ? (body.id as string) : []));
}

function nextMonth(): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString().slice(0, 19);
}

/** An upload of which only the head and the first bytes are sent. */
async function beginUpload(client: ApiClient, contentLength: number, headers: Header[] = []): Promise<RawConnection> {
  const connection = await RawConnection.open(client.url);
  const sent: Header[] = [
    ...Object.entries(client.headers),
    ['Content-Type', FORM_TYPE],
    ['Content-Length', contentLength],
    ...headers,
  ];
  await connection.send(head('POST', '/v1/recordings', sent));
  await connection.send(filePart(NOTE).subarray(0, 500));
  return connection;
}

afterEach(() => RawConnection.destroyAll());

describe('D32: stored_bytes', () => {
  it('is exact under concurrent uploads, and a delete frees what was stored', async () => {
    const limit = 5 * NOTE.length + 100;
    const client = await account({ storedBytes: limit });
    const [id = ''] = await uploadAtOnce(client, 12);
    const used = 5 * NOTE.length;

    expect(await quota(client, 'stored_bytes')).toEqual({ quota: 'stored_bytes', limit, used, resets_at: null });
    const details = { quota: 'stored_bytes', limit, used, resets_at: null };
    expectError(await client.upload(NOTE), 'QuotaExceededError', details);
    await client.delete(`/v1/recordings/${id}`).expect(204);
    expect(await uploadAtOnce(client, 3)).toHaveLength(1);
  });

  it('counts an upload whose storage hangs: others cannot take its place, nor it theirs', async () => {
    const client = await account({ storedBytes: 3 * NOTE.length, audioSecondsPerMonth: 100, queuedAudioSeconds: 100 });
    const store = service.app.get(ObjectStore);
    const put = store.put.bind(store);
    let goOn = (): void => undefined;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    const spy = jest.spyOn(store, 'put').mockImplementationOnce(async (...parameters) => {
      await held;
      await put(...parameters);
    });
    const hanging = client.upload(NOTE).then((answer) => answer);
    await eventually(async () => (await quota(client, 'stored_bytes'))?.used === NOTE.length);
    expect(await quota(client, 'queued_audio_seconds')).toMatchObject({ used: 1 });
    expect(await quota(client, 'audio_seconds_per_month')).toMatchObject({ used: 1 });
    expect(await uploadAtOnce(client, 6)).toHaveLength(2);
    goOn();
    expect((await hanging).status).toBe(201);
    spy.mockRestore();
    expect(await quota(client, 'stored_bytes')).toMatchObject({ used: 3 * NOTE.length });
    expect(await quota(client, 'queued_audio_seconds')).toMatchObject({ used: 3 });
  });

  it('gives back what an upload that storage refused had reserved', async () => {
    const client = await account({ storedBytes: NOTE.length });
    const store = service.app.get(ObjectStore);
    const failed = new StorageUnavailableError('no answer', { mayArriveLate: true });
    const spy = jest.spyOn(store, 'put').mockImplementationOnce(async (_key, _file, reserved) => {
      await reserved;
      throw failed;
    });
    await client.upload(NOTE).expect(503);
    spy.mockRestore();
    await eventually(async () => (await quota(client, 'stored_bytes'))?.used === 0);
    await client.upload(NOTE).expect(201);
  });

  it('is compared with Content-Length before the body is read', async () => {
    const client = await account({ storedBytes: 1_000_000, concurrentUploads: 1 });
    const connection = await beginUpload(client, 5_000_000);
    const answer = await connection.answer(5000);
    const details = { quota: 'stored_bytes', limit: 1_000_000, used: 0, resets_at: null };
    expectError(answer, 'QuotaExceededError', details);
    // It takes no slot from the next one.
    await client.upload(NOTE).expect(201);
  });
});

describe('D32: audio_seconds_per_month', () => {
  it('is exact under concurrent uploads, tells when it starts again, and a delete frees nothing', async () => {
    const client = await account({ audioSecondsPerMonth: 4 });
    const ids = await uploadAtOnce(client, 9);
    expect(ids).toHaveLength(4);
    await client.delete(`/v1/recordings/${ids[0]}`).expect(204);

    const details = { quota: 'audio_seconds_per_month', limit: 4, used: 4, resets_at: nextMonth() };
    expect(await quota(client, 'audio_seconds_per_month')).toEqual(details);
    // Certain before the body is read.
    expectError(await (await beginUpload(client, 100_000)).answer(5000), 'QuotaExceededError', details);
  });

  it('begins with the first day of the month in UTC', async () => {
    const client = await account({ audioSecondsPerMonth: 4 });
    await client.upload(NOTE).expect(201);
    const usedOn = async (day: number) => {
      await service.database.query(
        `UPDATE usage_counter_deltas
         SET day = date_trunc('month', now() AT TIME ZONE 'UTC')::date + $2::int WHERE account_id = $1`,
        [client.accountId, day],
      );
      return (await quota(client, 'audio_seconds_per_month'))?.used;
    };
    expect([await usedOn(0), await usedOn(-1)]).toEqual([1, 0]);
  });
});

describe('D32: queued_audio_seconds', () => {
  it('is the only one that a retry needs room in', async () => {
    const client = await account({ storedBytes: NOTE.length, audioSecondsPerMonth: 1, queuedAudioSeconds: 1 });
    const [id = ''] = await uploadAtOnce(client, 1);
    await fail(service, id);
    await client.post(`/v1/recordings/${id}/retry`).expect(202);
    await fail(service, id);
    await service.app.get(AccountService).update(client.accountId, { quotas: { queuedAudioSeconds: 0 } });
    const details = expect.objectContaining({ quota: 'queued_audio_seconds' });
    expectError(await client.post(`/v1/recordings/${id}/retry`), 'QuotaExceededError', details);
  });

  it('is exact under concurrent uploads, and free again as recordings end or are deleted', async () => {
    const client = await account({ queuedAudioSeconds: 3 });
    const [first = '', second = '', third = ''] = await uploadAtOnce(client, 8);
    const details = { quota: 'queued_audio_seconds', limit: 3, used: 3, resets_at: null };
    expectError(await client.upload(NOTE), 'QuotaExceededError', details);

    await transcribe(service, first, { durationMs: 1700 });
    await client.delete(`/v1/recordings/${second}`).expect(204);
    await fail(service, third);
    expect(await quota(client, 'queued_audio_seconds')).toEqual({ ...details, used: 0 });
    expect(await uploadAtOnce(client, 6)).toHaveLength(3);
    expectError(await client.post(`/v1/recordings/${third}/retry`), 'QuotaExceededError', details);
  });
});

describe('D32: the decoded length', () => {
  const used = async (client: ApiClient) => [
    (await quota(client, 'audio_seconds_per_month'))?.used,
    (await quota(client, 'queued_audio_seconds'))?.used,
  ];
  const TOO_LONG = expect.stringMatching(
    /^The audio is \d+ s long, longer than its file says, and does not fit into the quota audio_seconds_per_month\.$/,
  );

  it.each([
    ['longer', 3500, [4.5, 4.5]],
    ['longer, up to the limit', 4000, [5, 5]],
    ['shorter', 200, [1.2, 1.2]],
    ['longer than the month', 4001, null],
  ])('that is %s is counted while the recording waits', async (_, durationMs, counted) => {
    const client = await account({ audioSecondsPerMonth: 5, queuedAudioSeconds: 2 });
    const [, id = ''] = await uploadAtOnce(client, 2);
    const lease = (await claimRecording(service, id)) as Lease;
    const leases = service.app.get(RecordingLeasesService);
    const settled = await leases.settleLength(lease, durationMs);
    expect(await used(client)).toEqual(counted ?? [2, 1]);
    expect(settled).toEqual(counted && { ...lease, durationMs });
    const { body } = await client.get(`/v1/recordings/${id}`).expect(200);
    const [status, seconds] = counted ? ['processing', durationMs / 1000] : ['failed', 1];
    expect(body).toMatchObject({ status, duration_seconds: seconds });
    if (!counted) return;
    await leases.finish(lease, { status: 'failed', reason: 'silence' });
    expect(await used(client)).toEqual([counted[0], 1]);
  });

  it('that is longer takes nothing of another month than that of the upload', async () => {
    const client = await account({ audioSecondsPerMonth: 2 });
    const [id = ''] = await uploadAtOnce(client, 1);
    await service.database.query(`UPDATE recordings SET created_at = created_at - interval '32 days' WHERE id = $1`, [
      id,
    ]);
    const lease = await claimRecording(service, id);
    const leases = service.app.get(RecordingLeasesService);
    expect(await leases.settleLength(lease as NonNullable<typeof lease>, 60_000)).toMatchObject({ durationMs: 60_000 });
  });

  it('is counted before an engine gets audio; without room for it the recording fails and no engine is used', async () => {
    // Behind so much junk an upload counts the rest as long as it can be.
    const parts = [silentMp3(0.25), Buffer.alloc(64 * 1024 + 1, 0x20), await encoded('jfk.wav', 'mp3')];
    const estimated = await account({ queuedAudioSeconds: 1000 });
    const { body } = await estimated.upload(Buffer.concat(parts), {}, 'note.mp3').expect(201);
    expect(body).toMatchObject({ bit_rate: null });
    expect(body.duration_seconds).toBeGreaterThan(30);
    // As if its file said less than it has.
    const lying = await service.account();
    const { id } = (await lying.upload('jfk.wav', { language: 'german' }).expect(201)).body as { id: string };
    await service.database.query('UPDATE recordings SET duration_ms = 1000 WHERE id = $1', [id]);
    await service.database.query(
      'UPDATE usage_counter_deltas SET duration_ms = 1000, queued_ms = 1000 WHERE account_id = $1',
      [lying.accountId],
    );
    await service.app.get(AccountService).update(lying.accountId, { quotas: { audioSecondsPerMonth: 5 } });

    engine.holdFrom(0);
    const worker = await startService(service.environment, { ROLES: 'transcriber', TRANSCRIPTION_ENGINE: 'scripted' });
    await eventually(() => engine.state.languages.length > 0);
    const [month, queued] = await used(estimated);
    expect(month).toBeCloseTo(11, 0);
    expect(queued).toBeCloseTo(11, 0);
    await lying.finished(id);
    const { body: refused } = await lying.get(`/v1/recordings/${id}?include=transcription`).expect(200);
    expect(refused).toMatchObject({ status: 'failed', failure_reason: TOO_LONG });
    expect(await used(lying)).toEqual([1, 0]);
    engine.holdFrom(Infinity);
    await estimated.finished(body.id);
    expect(await used(estimated)).toEqual([month, 0]);
    expect(new Set(engine.state.languages)).toEqual(new Set([null]));
    await worker.close();
  });
});

describe('D32: an upload that was accepted before', () => {
  it('is answered again although the quota is full by now, and a new one is not', async () => {
    const client = await account({ audioSecondsPerMonth: 1 });
    const send = (key: string) => client.upload(NOTE).set('Idempotency-Key', key);
    const answers = await Promise.all([send('one'), send('one'), send('one')]);
    expect(statusesOf(answers)).toEqual([201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);

    const { body } = await send('one').expect(201).expect('Idempotent-Replayed', 'true');
    expect(body.id).toBe(answers[0]?.body.id);
    await send('two').expect(403);
  });
});

describe('D32: concurrent_uploads', () => {
  it('one too many in any process is 429, and an upload that is broken off frees its slot at once', async () => {
    const other = await startService(service.environment, { ROLES: 'api' });
    const client = await account({ concurrentUploads: 2 });
    const [first] = await Promise.all([beginUpload(client, 50_000), beginUpload(client.at(other.url), 50_000)]);
    await eventually(async () => (await quota(client, 'concurrent_uploads'))?.used === 2);

    for (const at of [client, client.at(other.url)]) {
      const answer = await at.upload(NOTE);
      const details = { retry_after: 1, quota: 'concurrent_uploads', limit: 2, used: 2 };
      expectError(answer, 'RateLimitError', details);
      expect(answer.headers['retry-after']).toBe('1');
    }
    first.destroy();
    await eventually(async () => (await client.at(other.url).upload(NOTE)).status === 201);
    await eventually(async () => (await quota(client, 'concurrent_uploads'))?.used === 1);
    await other.close();
  });

  it('the slots of a process that died are free again', async () => {
    const client = await account({ concurrentUploads: 1 });
    const { client: redis } = service.app.get(RedisService);
    let lifeMs = 500;
    const status = await eventually(async () => {
      lifeMs *= 2;
      const end = Date.now() + lifeMs;
      await redis.zadd(`uploads:${client.accountId}`, end, 'a slot of a dead process');
      const answer = await client.upload(NOTE);
      // On a busy machine the slot may be free before the upload asks for it: then one that lives longer is taken.
      return Date.now() < end && answer.status;
    });
    expect(status).toBe(429);
    await eventually(async () => (await client.upload(NOTE)).status === 201);
  });

  it('the slots of a long upload last as long as it does', async () => {
    const client = await account({ concurrentUploads: 1 });
    const { client: redis } = service.app.get(RedisService);
    const key = `uploads:${client.accountId}`;
    const connection = await beginUpload(client, 50_000);
    await eventually(async () => (await quota(client, 'concurrent_uploads'))?.used === 1);
    await redis.pexpire(key, 8000);
    // Renewed every 5 s, for 15 s.
    await eventually(async () => (await redis.pttl(key)) > 8000, 7000);
    connection.destroy();
  });
});

describe('D32: free disk', () => {
  it('below STORAGE_MIN_FREE_BYTES refuses uploads and nothing else', async () => {
    const full = await startService(service.environment, { ROLES: 'api', STORAGE_MIN_FREE_BYTES: `${2 ** 52}` });
    const client = (await service.account()).at(full.url);
    const answer = await client.upload(NOTE);
    expectError(answer, 'ServiceUnavailableError');
    expect(answer.headers['retry-after']).toBe('30');
    await client.get('/v1/recordings').expect(200);
    const { text } = await request(full.url).get('/metrics').expect(200);
    expect(text).toContain('quota_refusals_total{quota="free_disk"} 1');
    expect(text).toMatch(/^storage_free_bytes \d+$/m);
    await full.close();
  });
});

describe('D32: plans', () => {
  it('free is limited, enterprise only in what waits and what is under way', async () => {
    const limitsOf = async (plan: string) => {
      const { body } = await (await service.account(plan)).get('/v1/account/quotas').expect(200);
      return (body.quotas as QuotaList).map(({ limit }) => limit);
    };
    expect(await limitsOf('free')).toEqual([2 ** 30, 36_000, 7200, 2]);
    expect(await limitsOf('pro')).toEqual([100 * 2 ** 30, 1_800_000, 72_000, 8]);
    expect(await limitsOf('enterprise')).toEqual([null, null, 360_000, 32]);
  });
});
