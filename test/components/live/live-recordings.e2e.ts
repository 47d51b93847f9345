import {
  LIVE_SAMPLE_RATES,
  type LiveAudioType,
  LiveEndedError,
  LiveGapError,
  LiveRecordingsService,
} from '../../../src/modules/live/live-recordings.service.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useService } from '../../../src/testing/test-service.js';
import { LiveSignalsService } from '../../../src/modules/live/live-signals.service.js';
import { appendParts, BEGUN, pcmPart, principalOf } from '../../support/live/live-session.js';

/** Makes no files: only what is stored while one speaks is looked at. */
const api = useService({ ROLES: 'api' });

describe('a live recording, while it is recorded (D91)', () => {
  let live: LiveRecordingsService;

  beforeAll(() => {
    live = api.app.get(LiveRecordingsService);
  });

  const begin = async (quotas = {}) => {
    const client = await api.account();
    return {
      client,
      principal: principalOf(client.accountId, quotas),
      ...(await live.begin(principalOf(client.accountId, quotas), BEGUN)),
    };
  };

  const endOf = async (run: () => Promise<unknown>): Promise<string> => {
    const error: unknown = await run().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LiveEndedError);
    return (error as LiveEndedError).reason;
  };

  it('is a recording from its first second: read, listed, and without a file', async () => {
    const { client, recordingId } = await begin();
    await appendParts(live, { recordingId }, 3);
    const { body } = await client.get(`/v1/recordings/${recordingId}`).expect(200);
    expect(body).toMatchObject({ id: recordingId, status: 'processing' });
    const list = await client.get('/v1/recordings').expect(200);
    expect(list.body.recordings).toHaveLength(1);
    await client.get(`/v1/recordings/${recordingId}/audio`).expect(404);
    await client.get(`/v1/recordings/${recordingId}/transcription`).expect(404);
    await client.post(`/v1/recordings/${recordingId}/retry`).expect(409);
  });

  it('stores each byte once, at its place, whatever is sent again', async () => {
    const { recordingId } = await begin();
    const [first, second, third] = [pcmPart(0), pcmPart(1), pcmPart(2)];
    const size = first.length;
    await expect(live.append(recordingId, 0, first)).resolves.toBe(size);
    await expect(live.append(recordingId, 0, first)).resolves.toBe(size);
    await expect(live.append(recordingId, 0, Buffer.concat([first, second]))).resolves.toBe(2 * size);
    await expect(live.append(recordingId, 3 * size, third)).rejects.toEqual(new LiveGapError(2 * size));
    await expect(live.append(recordingId, 2 * size, Buffer.alloc(0))).resolves.toBe(2 * size);
    await expect(live.append(recordingId, size + 1, Buffer.concat([second.subarray(1), third]))).resolves.toBe(
      3 * size,
    );
    const all = Buffer.concat([first, second, third]);
    await expect(live.read(recordingId, 0, 3 * size)).resolves.toEqual({
      audio: all,
      storedBytes: 3 * size,
      nextCut: null,
      ended: false,
    });
    const middle = await live.read(recordingId, size - 3, size + 7);
    expect(middle.audio.equals(all.subarray(size - 3, 2 * size + 4))).toBe(true);
    await expect(live.read(recordingId, 3 * size, 10)).resolves.toEqual({
      audio: Buffer.alloc(0),
      storedBytes: 3 * size,
      nextCut: null,
      ended: false,
    });
  });

  it('is appended to by two connections at once without a gap or a double', async () => {
    const { recordingId } = await begin();
    const parts = Array.from({ length: 20 }, (_, n) => pcmPart(n));
    const send = async () => {
      let stored = 0;
      for (const part of parts) stored = Math.max(stored, await live.append(recordingId, stored, part.subarray(0)));
    };
    // Both send the same audio, as a client that has connected again.
    await Promise.all([send(), send()].map((sent) => sent.catch(() => undefined)));
    const { audio, storedBytes } = await live.read(recordingId, 0, 1e7);
    expect(audio).toHaveLength(storedBytes);
  });

  it('tells its readers of each part and of its end', async () => {
    const { recordingId } = await begin();
    const heard: unknown[] = [];
    const stop = api.app.get(LiveSignalsService).onAudio(recordingId, (signal) => heard.push(signal));
    await eventually(async () => heard.length === 1);
    await live.append(recordingId, 0, pcmPart(0));
    await live.end(recordingId, 'finished');
    await eventually(async () => heard.at(-1) === 'end');
    stop();
    expect(heard).toEqual([null, pcmPart(0).length, 'end']);
    await expect(live.read(recordingId, 0, 10)).resolves.toMatchObject({ ended: true });
    await expect(endOf(() => live.append(recordingId, pcmPart(0).length, pcmPart(1)))).resolves.toBe('finished');
    await expect(live.append(recordingId, 0, pcmPart(0))).resolves.toBe(pcmPart(0).length);
  });

  it('is resumed by its id, by its account only, until it has ended', async () => {
    const { client, recordingId } = await begin();
    await appendParts(live, { recordingId }, 2);
    await expect(live.resume(client.accountId, recordingId)).resolves.toMatchObject({
      recordingId,
      audio: BEGUN.audio,
      storedBytes: 2 * pcmPart(0).length,
      endedAt: null,
    });
    const { accountId: other } = await api.account();
    await expect(live.resume(other, recordingId)).rejects.toMatchObject({ status: 404 });
    await expect(live.resume(client.accountId, recordingId, 'somebody')).rejects.toMatchObject({ status: 404 });
    await expect(live.resume(client.accountId, 'x')).rejects.toMatchObject({ status: 404 });
    await live.end(recordingId, 'silent');
    await expect(live.resume(client.accountId, recordingId)).rejects.toMatchObject({ status: 409 });
  });

  it('counts for the quotas while it grows, and ends where one is full', async () => {
    const { client, recordingId } = await begin();
    await api.database.query(`UPDATE accounts SET quotas = '{"audioSecondsPerMonth": 61}' WHERE id = $1`, [
      client.accountId,
    ]);
    // 60 s are reserved at the beginning, then what is left of the month.
    const minute = Buffer.alloc(60 * 32_000);
    await live.append(recordingId, 0, minute);
    await live.append(recordingId, minute.length, Buffer.alloc(32_000));
    await expect(endOf(() => live.append(recordingId, minute.length + 32_000, pcmPart(0)))).resolves.toBe('quota');
    await expect(endOf(() => live.append(recordingId, minute.length + 32_000, pcmPart(0)))).resolves.toBe('quota');
    const principal = principalOf(client.accountId, { audioSecondsPerMonth: 61 });
    await expect(live.begin(principal, BEGUN)).rejects.toMatchObject({ quota: 'audio_seconds_per_month' });
  });

  it.each<LiveAudioType>([
    ...LIVE_SAMPLE_RATES.map((sampleRate) => ({ format: 'pcm16', sampleRate }) as const),
    { format: 'webm', sampleRate: null },
    { format: 'ogg', sampleRate: null },
    { format: 'mp4', sampleRate: null },
  ])('takes %j', async (audio) => {
    const { accountId } = await api.account();
    const { recordingId } = await live.begin(principalOf(accountId), { ...BEGUN, audio });
    await expect(live.append(recordingId, 0, pcmPart(0))).resolves.toBe(pcmPart(0).length);
    await expect(live.resume(accountId, recordingId)).resolves.toMatchObject({ audio });
  });

  it('begins only within the number that the plan allows at once', async () => {
    const { principal, recordingId } = await begin({ concurrentUploads: 1 });
    await expect(live.begin(principal, BEGUN)).rejects.toMatchObject({ status: 429, details: { limit: 1, used: 1 } });
    await live.end(recordingId, 'finished');
    await expect(live.begin(principal, BEGUN)).resolves.toMatchObject({ storedBytes: 0 });
  });

  it('ends, and takes nothing more, when it is deleted', async () => {
    const { client, recordingId } = await begin();
    await appendParts(live, { recordingId }, 2);
    const reserved = () =>
      api.database.query('SELECT 1 FROM object_removals WHERE account_id = $1', [client.accountId]);
    await expect(reserved()).resolves.toHaveLength(1);
    await client.delete(`/v1/recordings/${recordingId}`).expect(204);
    await expect(reserved()).resolves.toHaveLength(0);
    await expect(endOf(() => live.append(recordingId, 2 * pcmPart(0).length, pcmPart(2)))).resolves.toBe('deleted');
    await expect(live.read(recordingId, 0, 10)).resolves.toEqual({
      audio: Buffer.alloc(0),
      storedBytes: 0,
      nextCut: null,
      ended: true,
    });
    await expect(live.resume(client.accountId, recordingId)).rejects.toMatchObject({ status: 404 });
  });

  it.each([
    [{ audio: { format: 'pcm16', sampleRate: 11_025 } }, 'sample_rate'],
    [{ language: 'klingon' }, 'language'],
    [{ language: null, languages: ['english', 'x'] }, 'languages'],
    [{ title: 'x'.repeat(201) }, 'title'],
    [{ customTags: '[1]' }, 'custom_tags'],
    [{ vocabulary: [''] }, 'vocabulary'],
  ] as const)('refuses %j', async (wrong, field) => {
    const { accountId } = await api.account();
    await expect(live.begin(principalOf(accountId), { ...BEGUN, ...wrong })).rejects.toMatchObject({
      status: 400,
      details: { field },
    });
  });
});
