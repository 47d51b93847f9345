import { LiveFilesService } from '../../../src/modules/live/live-files.service.js';
import { LiveRecordingsService } from '../../../src/modules/live/live-recordings.service.js';
import { StorageUnavailableError } from '../../../src/platform/storage/file-system.js';
import { ObjectStore } from '../../../src/platform/storage/object-store.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useService } from '../../../src/testing/test-service.js';
import { wav } from '../../support/audio/audio-bytes.js';
import { appendParts, BEGUN, pcmPart, principalOf } from '../../support/live/live-session.js';
import { reportMeasurement } from '../../support/service/measurements.js';

/** By hand, with the length of a long recording: `LIVE_MINUTES=120`. */
const MINUTES = Number(process.env.LIVE_MINUTES ?? 2);

/** Makes the files; nobody transcribes them. */
const service = useService({ ROLES: 'api,deliverer', RECONCILE_SECONDS: '1' });

describe('the file of a live recording (D91)', () => {
  let live: LiveRecordingsService;

  beforeAll(() => {
    live = service.app.get(LiveRecordingsService);
  });

  afterEach(() => jest.restoreAllMocks());

  const endWords = async (recordingId: string): Promise<void> => {
    await service.database.query(
      'UPDATE live_recordings SET words_ended_at = now(), lease_token = NULL, lease_until = NULL WHERE recording_id = $1',
      [recordingId],
    );
  };

  /** Without words, unless some are awaited. */
  const begin = async (begun = {}, awaitsWords = false) => {
    const client = await service.account();
    const { recordingId } = await live.begin(principalOf(client.accountId), { ...BEGUN, ...begun });
    if (!awaitsWords) await endWords(recordingId);
    return { client, recordingId, path: `/v1/recordings/${recordingId}` };
  };

  interface Row {
    bytes: number;
    ms: number;
    format: string;
    key: string;
    status: string;
    reason: string | null;
  }

  const rowOf = async (id: string): Promise<Row | null> => {
    const [row] = await service.database.query<Row>(
      `SELECT file_size_bytes AS bytes, duration_ms AS ms, audio_format AS format, object_key AS key, status,
         failure_reason AS reason FROM recordings WHERE id = $1`,
      [id],
    );
    return row ?? null;
  };

  const stored = async (id: string): Promise<Row> =>
    await eventually(async () => {
      const row = await rowOf(id);
      return row !== null && row.bytes > 0 && row;
    });

  const isGone = async (id: string): Promise<boolean> => {
    const rows = await service.database.query(
      `SELECT 1 FROM live_recordings WHERE recording_id = $1 UNION ALL SELECT 1 FROM live_audio WHERE recording_id = $1`,
      [id],
    );
    return rows.length === 0;
  };

  const countedFor = async (accountId: string): Promise<object> => {
    const [counted] = await service.database.query<object>(
      `SELECT sum(accepted)::int AS accepted, sum(listed)::int AS listed, sum(bytes)::int AS bytes,
         sum(duration_ms)::int AS ms FROM (
         SELECT accepted, listed, bytes, duration_ms FROM usage_counters WHERE account_id = $1
         UNION ALL SELECT accepted, listed, bytes, duration_ms FROM usage_counter_deltas WHERE account_id = $1) c`,
      [accountId],
    );
    return counted as object;
  };

  const reservationsOf = async (accountId: string): Promise<unknown[]> =>
    await service.database.query('SELECT bytes FROM object_removals WHERE account_id = $1', [accountId]);

  it('is a WAV file of every byte, is counted once, and its parts are gone', async () => {
    const { client, recordingId, path } = await begin();
    const audio = await appendParts(live, { recordingId }, 25);
    await live.end(recordingId, 'finished');
    await expect(stored(recordingId)).resolves.toMatchObject({ bytes: 44 + audio.length, ms: 5000, format: 'wav' });
    const { body } = await client.get(`${path}/audio`).buffer(true).expect(200);
    expect(Buffer.compare(body as Buffer, wav({ data: audio }))).toBe(0);
    await eventually(() => isGone(recordingId));
    await expect(countedFor(client.accountId)).resolves.toEqual({
      accepted: 1,
      listed: 1,
      bytes: 44 + audio.length,
      ms: 5000,
    });
    await expect(reservationsOf(client.accountId)).resolves.toEqual([]);
  });

  it('has whole samples, whatever was sent', async () => {
    const { recordingId } = await begin();
    await live.append(recordingId, 0, Buffer.alloc(6401));
    await live.end(recordingId, 'silent');
    await expect(stored(recordingId)).resolves.toMatchObject({ bytes: 6444, ms: 200 });
  });

  it('is what a browser has written, byte for byte; what is no audio is kept too, with the time in which it came', async () => {
    const { client, recordingId, path } = await begin({ audio: { format: 'webm', sampleRate: null } });
    const audio = Buffer.from('not what a browser records');
    await live.append(recordingId, 0, audio);
    await live.end(recordingId, 'finished');
    await expect(stored(recordingId)).resolves.toMatchObject({ bytes: audio.length, format: 'webm' });
    const { body } = await client.get(`${path}/audio`).buffer(true).expect(200);
    expect(Buffer.compare(body as Buffer, audio)).toBe(0);
  });

  it('is made a minute after the last audio of a connection that broke', async () => {
    const { recordingId } = await begin();
    const audio = await appendParts(live, { recordingId }, 2);
    await service.database.query(
      `UPDATE live_recordings SET last_audio_at = now() - interval '61 seconds' WHERE recording_id = $1`,
      [recordingId],
    );
    await expect(stored(recordingId)).resolves.toMatchObject({ bytes: 44 + audio.length });
  });

  it('is not made of nothing: the recording is deleted, and counts nowhere', async () => {
    const { client, recordingId, path } = await begin();
    await live.end(recordingId, 'finished');
    await eventually(async () => (await rowOf(recordingId)) === null);
    await client.get(path).expect(404);
    await expect(countedFor(client.accountId)).resolves.toEqual({ accepted: 0, listed: 0, bytes: 0, ms: 0 });
    await expect(reservationsOf(client.accountId)).resolves.toEqual([]);
    await expect(isGone(recordingId)).resolves.toBe(true);
  });

  it('a recording on hold of which nothing came fails, because it may not be deleted', async () => {
    const { client, recordingId, path } = await begin();
    await client.put(`${path}/hold`, { reason: 'a case' }).expect(200);
    await live.end(recordingId, 'finished');
    await eventually(async () => (await rowOf(recordingId))?.status === 'failed');
    await expect(rowOf(recordingId)).resolves.toMatchObject({ reason: 'Nothing was recorded.' });
    await expect(reservationsOf(client.accountId)).resolves.toEqual([]);
  });

  it('is stored once the store is there again, and nothing of the attempts before is left', async () => {
    const { client, recordingId } = await begin();
    const audio = await appendParts(live, { recordingId }, 3);
    const put = jest.spyOn(service.app.get(ObjectStore), 'put');
    put.mockRejectedValueOnce(new StorageUnavailableError('a test', { mayArriveLate: true }));
    put.mockRejectedValueOnce(new StorageUnavailableError('a test'));
    await live.end(recordingId, 'finished');
    const { key } = await stored(recordingId);
    expect(put.mock.calls.map(([tried]) => tried)).toEqual([expect.anything(), expect.anything(), key]);
    expect(new Set(put.mock.calls.map(([tried]) => tried)).size).toBe(3);
    await expect(countedFor(client.accountId)).resolves.toMatchObject({ bytes: 44 + audio.length, ms: 600 });
    await expect(reservationsOf(client.accountId)).resolves.toEqual([]);
  });

  it('is not kept when the recording is deleted while it is stored', async () => {
    const { client, recordingId, path } = await begin();
    await appendParts(live, { recordingId }, 3);
    const store = service.app.get(ObjectStore);
    const put = store.put.bind(store);
    let key = '';
    jest.spyOn(store, 'put').mockImplementationOnce(async (tried, ...rest) => {
      await put(tried, ...rest);
      await client.delete(path).expect(204);
      key = tried;
    });
    await live.end(recordingId, 'finished');
    await eventually(() => key !== '');
    await eventually(async () => (await store.countUnder(client.accountId)) === 0);
    await eventually(() => isGone(recordingId));
    await expect(reservationsOf(client.accountId)).resolves.toEqual([]);
    await expect(countedFor(client.accountId)).resolves.toMatchObject({ bytes: 0, listed: 0 });
  });

  it.each([
    ['is still behind', `lease_token = gen_random_uuid(), lease_until = now() + interval '1 hour'`],
    ['was lost', `lease_token = gen_random_uuid(), lease_until = now() - interval '1 second'`],
    ['has no free session yet', 'lease_token = NULL, lease_until = NULL'],
  ])('leaves the parts to a transcriber that %s, until the words have ended', async (_, lease) => {
    const { recordingId } = await begin({}, true);
    const audio = await appendParts(live, { recordingId }, 2);
    await service.database.query(`UPDATE live_recordings SET ${lease} WHERE recording_id = $1`, [recordingId]);
    await live.end(recordingId, 'finished');
    await stored(recordingId);
    await service.app.get(LiveFilesService, { strict: false }).deleteAssembled();
    await expect(live.read(recordingId, 0, audio.length)).resolves.toEqual({
      audio,
      storedBytes: audio.length,
      nextCut: null,
      ended: true,
    });
    await endWords(recordingId);
    await eventually(() => isGone(recordingId));
  });

  it('waits for no words that do not come within a minute', async () => {
    const { recordingId } = await begin({}, true);
    await appendParts(live, { recordingId }, 1);
    await live.end(recordingId, 'finished');
    await stored(recordingId);
    await service.database.query(
      `UPDATE live_recordings SET assembled_at = now() - interval '61 seconds' WHERE recording_id = $1`,
      [recordingId],
    );
    await eventually(() => isGone(recordingId));
  });

  it('takes memory for a part of it only, however long it is', async () => {
    const { recordingId } = await begin();
    const part = pcmPart(1);
    const count = MINUTES * 60 * 5;
    const began = Date.now();
    for (let n = 0; n < count; n++) await live.append(recordingId, n * part.length, part);
    const appended = Date.now();
    const [{ bytes }] = (await service.database.query<{ bytes: number }>(
      `SELECT pg_total_relation_size('live_audio')::float8 AS bytes`,
    )) as [{ bytes: number }];
    await live.end(recordingId, 'finished');
    await expect(stored(recordingId)).resolves.toMatchObject({ bytes: 44 + count * part.length });
    const assembled = Date.now();
    await eventually(() => isGone(recordingId));
    reportMeasurement(
      `live recording of ${MINUTES} minutes: ${count} parts, each ${((appended - began) / count).toFixed(2)} ms, ` +
        `${(bytes / count / part.length).toFixed(2)} bytes of table for a byte, assembled in ${assembled - appended} ms, ` +
        `parts deleted ${Date.now() - assembled} ms later, ${(process.memoryUsage().rss / 2 ** 20).toFixed()} MB resident`,
    );
  });
});
