import type { TranscriptionWord } from '../../../src/modules/transcriptions/corrected-words.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { speech } from '../../../src/testing/speech.js';
import { type TestService, useService } from '../../../src/testing/test-service.js';
import { adtsFrames, garbage, randomBytes, silenceWav, twoChannels, wav } from '../../support/audio/audio-bytes.js';
import { encoded, NOTES } from '../../support/audio/encoded.js';
import { box, fragmentedMp4, FTYP, mp4, type Mp4Claims, u32 } from '../../support/audio/mp4.js';
import { expectError, expectHeaders, expectInvalid } from '../../support/http/expect-errors.js';
import { expectAlive } from '../../support/http/expect-unharmed.js';
import { FEATURES, WAVEFORM } from '../../support/http/response-shapes.js';
import { timedEngine } from '../../support/service/test-engines.js';
import { claimRecording, fail, transcribe, upload } from '../../support/state/recording-states.js';

jest.setTimeout(300_000);

const SENTENCE = 'go forward ten meters';
const TYPES: Record<string, string> = { m4a: 'audio/mp4', aac: 'audio/aac', flac: 'audio/flac', amr: 'audio/amr' };

// What the decoder makes of each format is compared with the original in decoder.e2e.ts: words would show no more.
const engine = timedEngine({ msPerSecond: 0, concurrency: 4 });
const timed = useService({ TRANSCRIPTION_ENGINE: 'timed' }, { extensions: [engine.extension] });
const api = useService({ ROLES: 'api', ACCEPTED_FORMATS: 'webm,mp3,ogg,wav,m4a' });

describe('voice notes of telephones and browsers (D47)', () => {
  let client: ApiClient;

  beforeAll(async () => {
    client = await timed.account('enterprise');
  });

  it('are recognised by content, measured to a tenth of a second, and transcribed', async () => {
    const notes = Object.entries(NOTES);
    const ids = await Promise.all(
      notes.map(async ([what, { format, codec, sampleRate, make }]) => {
        const { body } = await client.upload(await make(), {}, 'holiday.png').expect(201);
        expect({ what, ...body }).toMatchObject({
          what,
          audio_format: format,
          audio_codec: codec,
          sample_rate: sampleRate,
          channels: 1,
          s3_key: expect.stringMatching(new RegExp(`\\.${format}$`)),
        });
        expect(Math.abs(body.duration_seconds - 2.786)).toBeLessThan(0.1);
        return body.id as string;
      }),
    );
    await allEnded(timed, new Map(ids.map((id, index) => [id, notes[index]?.[0] ?? id])));
    for (const [index, id] of ids.entries()) {
      const [what, { format }] = notes[index] as (typeof notes)[number];
      const recording = await client.finished(id);
      expect({ what, status: recording.status }).toEqual({ what, status: 'transcribed' });
      expect(Math.abs((recording.duration_seconds as number) - 2.786)).toBeLessThan(0.1);
      const { body } = await client.get(`/v1/recordings/${id}/transcription`).expect(200);
      expect({ what, text: body.text }).toEqual({ what, text: 'a' });
      const audio = await client.get(`/v1/recordings/${id}/audio`).expect(200);
      expect(audio.headers['content-type']).toBe(TYPES[format]);
    }
  });

  it('come to an end when they are broken, with a reason, at the first try', async () => {
    const live = await (
      NOTES['a fragmented mp4 as iPhones record it in a browser'] as { make: () => Promise<Buffer> }
    ).make();
    const indexed = await (NOTES['an m4a with its index first'] as { make: () => Promise<Buffer> }).make();
    const flac = await (NOTES['native FLAC'] as { make: () => Promise<Buffer> }).make();
    const amr = await speech('go-forward-ten-meters.nb.amr');
    const lying = (claims: Mp4Claims): Buffer => mp4({ sizes: Array<number>(100).fill(50), ...claims });
    const broken: Record<string, Buffer> = {
      'an index without anything': Buffer.concat([FTYP, box('moov')]),
      'no index': FTYP,
      'random bytes behind ftyp': garbage('m4a', 1),
      'random bytes behind fLaC': garbage('flac', 1),
      'random bytes in AAC': Buffer.concat([adtsFrames(3), randomBytes(1, 5000)]),
      'random bytes in AMR': Buffer.concat([amr.subarray(0, 6), randomBytes(1, 5000)]),
      'AAC of zeros': lying({}),
      'a timescale of 0': lying({ timescale: 0, movieTimescale: 0 }),
      '4 billion samples': lying({ count: 0xffffffff }),
      '4 billion ticks in a sample': lying({ ticks: 0xffffffff }),
      'a rate of 1 Hz': lying({ codec: 'sowt', sampleRate: 1 }),
      '65,535 channels': lying({ codec: 'sowt', channels: 65_535 }),
      'a thousand edits': lying({ edits: Array.from({ length: 1000 }, () => [1_000_000, 0]) }),
      'fragments of nothing': fragmentedMp4(100),
      'boxes in boxes': Buffer.concat([
        FTYP,
        ...Array.from({ length: 100_000 }, () => Buffer.concat([u32(0), Buffer.from('moov')])),
      ]),
      'a track without samples': lying({ sizes: [] }),
    };
    for (let seed = 1; seed <= 2; seed++) {
      broken[`flipped bits in fragments, ${seed}`] = flipped(live, seed);
      broken[`flipped bits in an index, ${seed}`] = flipped(indexed, seed, 1500);
      broken[`flipped bits in FLAC, ${seed}`] = flipped(flac, seed);
    }
    for (const share of [0.05, 0.5, 0.95]) {
      broken[`fragments cut at ${share}`] = live.subarray(0, live.length * share);
      broken[`an index cut at ${share}`] = indexed.subarray(0, indexed.length * share);
    }
    const ids: [what: string, id: string][] = [];
    for (const [what, bytes] of Object.entries(broken)) {
      const { status, body } = await client.upload(bytes);
      expect({ what, status }).toEqual({ what, status: 201 });
      ids.push([what, body.id as string]);
    }
    await allEnded(timed, new Map(ids.map(([what, id]) => [id, what])));
    for (const [what, id] of ids) {
      const { body: recording } = await client.get(`/v1/recordings/${id}`).expect(200);
      const { status } = recording;
      const { body } = await client.get(`/v1/recordings/${id}/transcription`);
      const reason = body.error?.details?.reason ?? 'none';
      expect({ what, status, reason }).toEqual({
        what,
        status: expect.stringMatching(/transcribed|failed/),
        reason: expect.stringMatching(/^none$|^The [^/[\]@]*$/),
      });
    }
    const retried = await timed.database.query(
      'SELECT id FROM recordings WHERE id = ANY($1) AND (attempt <> 1 OR faults <> 0)',
      [ids.map(([, id]) => id)],
    );
    expect(retried).toEqual([]);
    await expectAlive(timed.url);
  });

  it('that the operator does not accept are refused, and the error lists what is accepted', async () => {
    const account = await api.account();
    const refused = await account.upload(await speech('go-forward-ten-meters.nb.amr'), {}, 'note.wav');
    expectInvalid(refused, 'file', /^must be audio in webm, mp3, ogg, wav or m4a; this is amr$/);
    const { body } = await account.upload(await encoded('cards-001.wav', 'm4a')).expect(201);
    expect(body.audio_format).toBe('m4a');
  });
});

describe('two channels that are transcribed each on its own', () => {
  const service = useService();
  let client: ApiClient;
  let call: Buffer;

  beforeAll(async () => {
    const [left, right] = await Promise.all([speech('go-forward-ten-meters.wav'), speech('cards-001.wav')]);
    call = twoChannels(left, right, 3.5, 6);
  });

  beforeEach(async () => {
    client = await service.account();
  });

  async function transcribed(audio: Buffer, fields: Record<string, string>) {
    const { body: created } = await client.upload(audio, fields).expect(201);
    const recording = await client.finished(created.id);
    expect(recording.status).toBe('transcribed');
    const path = `/v1/recordings/${created.id}/transcription`;
    const { body } = await client.get(path).expect(200);
    return { path, recording, text: body.text as string, words: JSON.parse(body.words) as TranscriptionWord[] };
  }

  it('have words with their channel, in order of time, and are counted once', async () => {
    const { path, recording, text, words } = await transcribed(call, { channels: 'separate' });

    expect(recording).toMatchObject({ channels: 2, duration_seconds: 6 });
    expect(recording.features).toStrictEqual({ ...FEATURES, no_speech: false, channels: 2 });
    expect(text).toBe(`${SENTENCE} ten of clubs`);
    expect(words.map(({ channel }) => channel)).toEqual([0, 0, 0, 0, 1, 1, 1]);
    expect(words.map(({ word }) => word).join(' ')).toBe(text);
    const starts = words.map(({ start }) => start);
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    const { body: account } = await client.get('/v1/account').expect(200);
    expect(account.usage.current_month).toMatchObject({ recordings_count: 1, total_duration_seconds: 6 });

    const exported = async (format: string): Promise<string> =>
      (await client.get(`${path}?format=${format}`).buffer(true).expect(200)).text;
    expect(await exported('text')).toBe(text);
    expect(await exported('paragraphs')).toBe(`Channel 0: ${SENTENCE}\n\nChannel 1: ten of clubs`);
    expect(await exported('srt')).toMatch(/\nChannel 0: go forward ten meters\n[^]*\nChannel 1: ten of clubs\n/);
    expect(await exported('vtt')).toMatch(/\n<v Channel 0>go forward ten meters\n[^]*\n<v Channel 1>ten of clubs\n/);

    // As they came, or with another text, they keep their channels.
    const { body: same } = await client.put(path, { words }).expect(200);
    expect(JSON.parse(same.words)).toEqual(words);
    const { body: corrected } = await client.put(path, { text: `${SENTENCE}, please. Ten of clubs!` }).expect(200);
    const channels = (JSON.parse(corrected.words) as TranscriptionWord[]).map(({ channel }) => channel);
    expect(channels).toEqual([0, 0, 0, 0, 0, 1, 1, 1]);
  });

  it('are mixed unless the upload asks, and then nothing of an answer differs', async () => {
    const cards = await speech('cards-001.wav');
    const short = twoChannels(cards, cards, 0, 2);
    const [plain, mixed] = await Promise.all([transcribed(short, {}), transcribed(short, { channels: 'mixed' })]);
    for (const { recording, words } of [plain, mixed]) {
      expect(words).not.toEqual([]);
      expect(recording.features).toStrictEqual({ ...FEATURES, no_speech: false });
      expect(words.every((word) => !('channel' in word))).toBe(true);
    }
  });

  it('of a recording with one channel are as without the wish', async () => {
    const { recording, text, words } = await transcribed(await speech('go-forward-ten-meters.wav'), {
      channels: 'separate',
    });
    expect(text).toBe(SENTENCE);
    expect(recording.features).toMatchObject({ channels: 1 });
    expect(words.every((word) => !('channel' in word))).toBe(true);
  });

  it('must be two, and the field one of its values, once', async () => {
    const six = wav({ channels: 6, data: Buffer.alloc(96_000) });
    expectInvalid(await client.upload(six, { channels: 'separate' }), 'channels', /more than two channels; this has 6/);
    expectInvalid(await client.upload(call, { channels: 'stereo' }), 'channels', /mixed, separate/);
    expectInvalid(await client.upload(call, { channels: '' }), 'channels', /mixed, separate/);
  });

  it('make another upload of the same bytes under an Idempotency-Key', async () => {
    const send = (fields: Record<string, string>) => client.upload(call, fields).set('Idempotency-Key', 'one');
    await send({ channels: 'separate' }).expect(201);
    expect((await send({ channels: 'separate' }).expect(201)).headers['idempotent-replayed']).toBe('true');
    await send({}).expect(409);
  });
});

/** On a busy machine that takes a while. @param whats what each recording is, by its id */
async function allEnded(service: TestService, whats: Map<string, string>): Promise<void> {
  let open: string[] = [];
  const look = async (): Promise<boolean> => {
    const rows = await service.database.query<{ id: string }>(
      `SELECT id FROM recordings WHERE id = ANY($1) AND status = 'processing'`,
      [[...whats.keys()]],
    );
    open = rows.map(({ id }) => whats.get(id) ?? id);
    return open.length === 0;
  };
  await eventually(look, 180_000).catch((error: unknown) => {
    throw new Error(`not ended: ${open.join(', ')}`, { cause: error });
  });
}

/** Three bytes of every hundred, in the first of them. */
function flipped(original: Buffer, seed: number, first = original.length): Buffer {
  const bytes = Buffer.from(original);
  const places = randomBytes(seed, Math.min(first, bytes.length));
  places.forEach((value, index) => {
    if (index > 32 && value < 8) bytes[index] = (bytes[index] as number) ^ (1 << value);
  });
  return bytes;
}

interface WaveformBody {
  duration_seconds: number;
  peaks: number[];
}

const pathOf = (id: string): string => `/v1/recordings/${id}/waveform`;

describe('waveforms (D52)', () => {
  describe('of a worker', () => {
    let client: ApiClient;

    beforeEach(async () => {
      client = await timed.account();
    });

    async function waveformOf(audio: Buffer, fields = {}): Promise<WaveformBody> {
      const { body } = await client.upload(audio, fields).expect(201);
      await client.finished(body.id);
      return (await client.get(pathOf(body.id)).expect(200)).body as WaveformBody;
    }

    it('shows where somebody speaks: 100 points for each second of a short recording', async () => {
      const spoken = await speech('go-forward-ten-meters.wav');
      const silence = Buffer.alloc(32_000);
      const { peaks, duration_seconds: seconds } = await waveformOf(
        wav({ data: Buffer.concat([silence, spoken.subarray(spoken.indexOf('data') + 8)]) }),
      );
      expect(peaks).toHaveLength(Math.ceil(seconds * 100));
      expect(Math.max(...peaks.slice(0, 100))).toBe(0);
      expect(Math.max(...peaks)).toBe(255);
      const loud = peaks.filter((peak) => peak > 25).length / peaks.length;
      expect(loud).toBeGreaterThan(0.2);
      expect(loud).toBeLessThan(0.6);
    });

    it('has the peaks of both channels that are transcribed each on its own', async () => {
      const note = await speech('go-forward-ten-meters.wav');
      const { peaks } = await waveformOf(twoChannels(note, note, 4, 7), { channels: 'separate' });
      expect(peaks).toHaveLength(700);
      const [first, pause, second] = [peaks.slice(0, 300), peaks.slice(300, 400), peaks.slice(400)];
      expect(Math.max(...pause)).toBeLessThan(10);
      expect(Math.max(...first)).toBe(Math.max(...second));
    });

    it('is flat where nothing is heard, and has a thousand points at most', async () => {
      expect(await waveformOf(silenceWav(25))).toMatchObject({
        duration_seconds: 25,
        peaks: Array.from({ length: 1000 }, () => 0),
      });
    });
  });

  describe('of a recording', () => {
    let client: ApiClient;
    let id: string;

    beforeEach(async () => {
      client = await api.account();
      id = await upload(client);
    });

    const rows = async (): Promise<number> =>
      (await api.database.query(`SELECT FROM waveforms WHERE recording_id = $1`, [id])).length;
    const again = () => client.post(`/v1/recordings/${id}/transcribe`, {}).expect(202);
    const codeOf = async (): Promise<unknown> => {
      const answer = await client.get(pathOf(id)).expect(404);
      expect(answer.body.error.type).toBe('NotFoundError');
      expectHeaders(answer);
      return answer.body.error.code;
    };

    it('is answered with exactly these keys, and with a tag that spares sending it again', async () => {
      await transcribe(api, id, { durationMs: 1234 });
      const answer = await client.get(pathOf(id)).expect(200);
      expect(answer.body).toStrictEqual({
        ...WAVEFORM,
        recording_id: id,
        duration_seconds: 1.234,
        peaks: [0, 128, 255],
      });
      const { etag } = answer.headers as { etag: string };
      expect(etag).toBe(`"${id}.waveform"`);
      for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const unchanged = await client.get(pathOf(id)).set('If-None-Match', tags).expect(304);
        expect([unchanged.text, unchanged.headers.etag]).toEqual(['', etag]);
        expectHeaders(unchanged);
      }
      await client.get(pathOf(id)).set('If-None-Match', '"other"').expect(200);
      await client.get(pathOf(id)).set('If-None-Match', 'no tag').expect(200);
    });

    it('says why there is none: not yet, or not without transcribing it again', async () => {
      expect(await codeOf()).toBe('WAVEFORM_NOT_READY');
      await fail(api, id);
      expect(await codeOf()).toBe('WAVEFORM_NOT_AVAILABLE');
      await client.post(`/v1/recordings/${id}/retry`).expect(202);
      expect(await codeOf()).toBe('WAVEFORM_NOT_READY');
      await transcribe(api, id);
      await client.get(pathOf(id)).expect(200);
    });

    it('is made by transcribing an old recording again', async () => {
      await transcribe(api, id);
      await api.database.query('DELETE FROM waveforms WHERE recording_id = $1', [id]);
      expect(await codeOf()).toBe('WAVEFORM_NOT_AVAILABLE');
      const { body } = await client.get(pathOf(id));
      expect(body.error.message).toContain('POST /v1/recordings/{recording_id}/transcribe');
      await again();
      expect(await codeOf()).toBe('WAVEFORM_NOT_READY');
      await transcribe(api, id);
      await client.get(pathOf(id)).expect(200);
    });

    it('stays as it is when the recording is transcribed again, and is served meanwhile', async () => {
      await transcribe(api, id, { durationMs: 1000 });
      const { body: before } = await client.get(pathOf(id)).expect(200);
      await again();
      await claimRecording(api, id);
      expect((await client.get(pathOf(id)).expect(200)).body).toEqual(before);
      await api.database.query('UPDATE recordings SET lease_until = now() WHERE id = $1', [id]);
      await transcribe(api, id, { durationMs: 2000 });
      expect((await client.get(pathOf(id)).expect(200)).body).toEqual(before);
      expect(await rows()).toBe(1);
    });

    it('goes with the recording, deleted or erased with its end user', async () => {
      await transcribe(api, id);
      expect(await rows()).toBe(1);
      await client.delete(`/v1/recordings/${id}`).expect(204);
      expect(await rows()).toBe(0);
      expectError(await client.get(pathOf(id)), 'NotFoundError');

      const { body: token } = await client.post('/v1/account/access-tokens', { identity: 'user-42' }).expect(201);
      const { body } = await client.upload(silenceWav(0.1)).set('Authorization', `Bearer ${token.token}`).expect(201);
      id = body.id;
      await transcribe(api, id);
      expect(await rows()).toBe(1);
      await client.delete('/v1/users/user-42').expect(202);
      expect(await rows()).toBe(0);
    });
  });
});
