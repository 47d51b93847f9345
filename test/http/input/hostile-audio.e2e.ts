import { isDeepStrictEqual } from 'node:util';
import { expectAlive, HEALTHY_MS, watchHealth } from '../../support/http/expect-unharmed.js';
import {
  absurdWavs,
  emptyWav,
  garbage,
  mp3WithTag,
  pipedWav,
  type PretendedFormat,
  randomBytes,
  silentWebm,
  wav,
  webmWithoutAudio,
} from '../../support/audio/audio-bytes.js';
import { checkRows } from '../../support/check-rows.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { encoded } from '../../support/audio/encoded.js';
import { speech } from '../../../src/testing/speech.js';
import {
  oggOpus,
  oggPage,
  oggWithoutAudio,
  opusHead,
  opusTags,
  packetsOf,
  silentOgg,
  webmOf,
} from '../../support/audio/containers.js';
import { mp4 } from '../../support/audio/mp4.js';
import { eventually } from '../../../src/testing/eventually.js';
import { reportMeasurement } from '../../support/service/measurements.js';
import { watchChildren } from '../../support/service/process-stats.js';
import { useService } from '../../../src/testing/test-service.js';
import { uploadState } from '../../support/state/upload-state.js';

jest.setTimeout(900_000);

/** Of random bytes, per format. */
const SEEDS = 3;
/** Where one format is cut. */
const CUTS = 5;
/** Of what repeats itself. An upload may have 25 MB: that takes longer in proportion, and shows the same. */
const FILLED_MB = 2;
/** A shorter maximum than usual: so much is decoded of what is longer. */
const MAX_AUDIO_SECONDS = 120;
const FORMATS = ['webm', 'mp3', 'ogg', 'wav'] as const satisfies PretendedFormat[];

/** Generous: on a busy machine the engine gives way to everything else. */
const TERMINAL_MS = 180_000;
const MEMORY_BYTES = 200_000_000;
const CPU_SECONDS = 30;

const SENTENCE = 'go forward ten meters';

interface End {
  status: string;
  reason: string | null;
  seconds: number;
  attempt: number;
  faults: number;
  run: number;
}

describe('invalid audio that is accepted', () => {
  let client: ApiClient;

  const service = useService({ MAX_AUDIO_SECONDS: String(MAX_AUDIO_SECONDS) });
  const { environment } = service;

  beforeAll(async () => {
    // The engine's processes start with the first note; what they cost is nobody's audio.
    client = await service.account();
    const { body } = await client.upload('go-forward-ten-meters.wav').expect(201);
    await client.finished(body.id);
  });

  beforeEach(async () => {
    client = await service.account();
  });

  afterEach(async () => {
    await expectAlive(service.url);
    expect((await uploadState(service, environment)).spooled).toEqual([]);
  });

  async function ends(ids: string[]): Promise<End[]> {
    return await service.database.query<End & Record<string, unknown>>(
      `SELECT status, failure_reason AS reason, duration_ms / 1000.0::float AS seconds, attempt, faults, run
       FROM recordings WHERE id = ANY($1) ORDER BY id`,
      [ids],
    );
  }

  async function allEnded(ids: string[], ms: number): Promise<End[]> {
    return await eventually(async () => {
      const rows = await ends(ids);
      return rows.length === ids.length && rows.every(({ status }) => status !== 'processing') ? rows : null;
    }, ms);
  }

  /** Uploads, waits for the end, and holds it to what every end must be. @returns the end and what it says to a client */
  async function endOf(bytes: Buffer, name = 'note'): Promise<End & { text: string | null }> {
    const decoders = watchChildren(process.pid, 'ffmpeg');
    const health = watchHealth(service.url);
    const started = performance.now();
    const { body } = await client.upload(bytes, {}, name).expect(201);
    const uploaded = performance.now();
    const [end] = (await allEnded([body.id], TERMINAL_MS)) as [End];
    const ended = performance.now();
    const { peak, cpuSeconds } = decoders.stop();
    const slowest = await health.stop();

    reportMeasurement(
      `${expect.getState().currentTestName}: ${end.status}${end.reason ? ` (${end.reason})` : ''}, ` +
        `${end.seconds} s of audio, upload ${ms(uploaded - started)}, end ${ms(ended - uploaded)}, ` +
        `decoder ${mb(peak)} ${cpuSeconds.toFixed(2)} s CPU, health at worst ${ms(slowest)}`,
    );
    expect(peak).toBeLessThan(MEMORY_BYTES);
    expect(cpuSeconds).toBeLessThan(CPU_SECONDS);
    expect(slowest).toBeLessThan(HEALTHY_MS);
    return { ...end, text: await toldTo(body.id, end) };
  }

  /** What clients see agrees with the row: a text or a reason, one event, and no try but the first. */
  async function toldTo(id: string, end: End): Promise<string | null> {
    expect(end).toMatchObject({ attempt: 1, faults: 0, run: 1 });
    const { body: recording } = await client.get(`/v1/recordings/${id}`).expect(200);
    expect(recording.status).toBe(end.status);
    const events = await service.database.query(
      `SELECT kind FROM events WHERE recording_id = $1 AND kind <> 'recording.accepted'`,
      [id],
    );
    expect(events).toEqual([{ kind: `recording.${end.status}` }]);
    const { status, body } = await client.get(`/v1/recordings/${id}/transcription`);
    if (end.status === 'transcribed') {
      expect(status).toBe(200);
      return body.text as string;
    }
    expect({ status, error: body.error }).toMatchObject({
      status: 404,
      error: { code: 'TRANSCRIPTION_FAILED', details: { reason: end.reason } },
    });
    // Nothing of our inside: no paths, no words of ffmpeg's.
    expect(end.reason).toMatch(/^[A-Z][^/[\]@]*$/);
    return null;
  }

  /** Half a second of speech. Ogg in pages of 200 ms, because one that is cut is dropped whole. */
  const shortNotes = new Map<string, Promise<Buffer>>();
  const shortNote = (format: (typeof FORMATS)[number]): Promise<Buffer> => {
    const options = format === 'ogg' ? ['-c:a', 'libopus', '-page_duration', '200000'] : [];
    const part = ['-ss', '0.3', '-t', '0.6'];
    const note = shortNotes.get(format) ?? encoded('go-forward-ten-meters.wav', format, ...part, ...options);
    shortNotes.set(format, note);
    return note;
  };

  const speechPackets = async (): Promise<{ head: Buffer; packets: Buffer[] }> => {
    const [head, , ...packets] = packetsOf(await speech('go-forward-ten-meters.ogg'));
    return { head: head as Buffer, packets };
  };

  describe('with headers that lie', () => {
    it('fails: a WAV that claims what no recording has', () =>
      checkRows(Object.entries(absurdWavs), async (_, make) => {
        expect(await endOf(make())).toMatchObject({
          status: 'failed',
          reason: expect.stringMatching(/sample rate|channels|no audio/),
        });
      }));

    it('fails: headers without audio, or of no codec', () =>
      checkRows<[what: string, bytes: Buffer]>(
        [
          ['a WAV without a sample', emptyWav()],
          ['a WAV of an unknown codec', wav({ formatTag: 0x674f, data: randomBytes(1, 10_000) })],
          ['a WAV that says it is MP3', wav({ formatTag: 0x55, data: randomBytes(1, 10_000) })],
          ['GSM of blocks of 0 bytes', wav({ formatTag: 0x31, bitsPerSample: 0, data: randomBytes(1, 10_000) })],
          ['a WAV of 0 bits', wav({ bitsPerSample: 0, data: Buffer.alloc(10_000) })],
          ['a WAV of 65,535 bits', wav({ bitsPerSample: 65_535, data: Buffer.alloc(10_000) })],
          ['a WAV that is only its magic', Buffer.from('RIFF\0\0\0\0WAVE', 'latin1')],
          ['an Ogg that is only its magic', Buffer.from('OggS\0')],
          ['an Ogg page without packets', oggPage([], { flags: 2 })],
          ['an Opus of 255 channels', opusOf({ channels: 255, family: 255 })],
          ['an Opus of 0 channels', opusOf({ channels: 0 })],
        ],
        async (_, bytes) => {
          const end = await endOf(bytes);
          // Which of these an ffmpeg can make sound of is its own business, as long as it is an end.
          if (end.status === 'transcribed') expect(end.text).toBe('');
          else expect(end.reason).toMatch(/no audio|channels|sample rate/);
        },
      ));

    it('fails: webm and ogg with video and no audio', async () => {
      for (const bytes of [webmWithoutAudio(), oggWithoutAudio()]) {
        expect(await endOf(bytes)).toMatchObject({
          status: 'failed',
          reason: 'The file contains no audio that can be decoded.',
          seconds: 0,
        });
      }
    });

    it('transcribes the few samples there are behind a length of 0xFFFFFFFF', async () => {
      expect(await endOf(pipedWav())).toMatchObject({ status: 'transcribed', text: '', seconds: 0.003 });
    });

    it('transcribes speech behind a length of 0xFFFFFFFF, and behind one of 0', async () => {
      const note = await speech('go-forward-ten-meters.wav');
      for (const length of [0xffffffff, 0]) {
        const lying = Buffer.from(note);
        lying.writeUInt32LE(length, note.indexOf('data') + 4);
        expect(await endOf(lying)).toMatchObject({ status: 'transcribed', text: SENTENCE });
      }
    });

    it.each(['the video first', 'the audio first'])('transcribes webm with video from the audio, %s', async (order) => {
      const { head, packets } = await speechPackets();
      const audio = { kind: 'audio' as const, codec: 'A_OPUS', codecPrivate: head, packets };
      const video = { kind: 'video' as const, codec: 'V_VP8', packets: packets.map((_, i) => randomBytes(i, 2_000)) };
      const tracks = order === 'the video first' ? [video, audio] : [audio, video];
      expect(await endOf(webmOf(tracks), 'note.webm')).toMatchObject({ status: 'transcribed', text: SENTENCE });
    });

    it('transcribes speech under a wrong name and type', async () => {
      expect(await endOf(await speech('go-forward-ten-meters.mp3'), 'note.wav')).toMatchObject({
        status: 'transcribed',
        text: SENTENCE,
      });
    });
  });

  describe('with more in it than it looks', () => {
    const TOO_LONG = `The recording is longer than the maximum of ${MAX_AUDIO_SECONDS} seconds.`;

    it('fails: many hours in a few megabytes', () =>
      checkRows<[what: string, bytes: Buffer]>(
        [
          ['10 h of silence in 2.4 MB of Opus in WebM', silentWebm(36_000)],
          ['10 h of silence in 0.9 MB of Opus in Ogg', silentOgg(36_000)],
          ['2 h of silence in 7 MB of MP3 at 8 kbit/s', slowMp3(7_200)],
        ],
        async (_, bytes) => expect(await endOf(bytes)).toMatchObject({ status: 'failed', reason: TOO_LONG }),
      ));

    it('transcribes silence of nearly the maximum length, without a word', async () => {
      expect(await endOf(silentOgg(MAX_AUDIO_SECONDS - 10))).toMatchObject({ status: 'transcribed', text: '' });
    });

    it.each(['empty', 'of one frame', 'of random bytes'])(
      'transcribes an MP3 behind an ID3 tag of 20 MB, %s',
      async (what) => {
        const bytes = mp3WithTag(20_000_000, await speech('go-forward-ten-meters.mp3'));
        if (what === 'of one frame') id3Frame('PRIV', Buffer.alloc(19_999_900, 'x')).copy(bytes, 10);
        if (what === 'of random bytes') randomBytes(7, 19_999_990).copy(bytes, 10);
        expect(await endOf(bytes)).toMatchObject({ status: 'transcribed', text: SENTENCE });
      },
    );

    /** Compared each with all before it, they would take a decoder for hours. */
    const names = (count: number): string[] => Array.from({ length: count }, (_, i) => i.toString(36));
    it('comes to an end that is not tried again: an Opus with 1,500,000 tags', async () => {
      const { head, packets } = await speechPackets();
      const end = await endOf(oggOpus(packets, { head, tags: opusTags(names(1_500_000).map((name) => `${name}=a`)) }));
      if (end.status === 'failed') {
        expect(end.reason).toMatch(/takes too long to decode|no audio that can be decoded/);
      } else expect(end.text).toMatch(SENTENCE);
    });

    it(`comes to an end: ${FILLED_MB} MB of nothing`, () =>
      checkRows<[what: string, first: Buffer, pattern: Buffer]>(
        [
          ['empty Ogg pages', Buffer.alloc(0), oggPage([])],
          ['empty EBML elements', silentWebm(1), Buffer.from('ec80', 'hex')],
          ['empty clusters', silentWebm(1), Buffer.from('1f43b67580', 'hex')],
          ['MP3 sync bytes', slowMp3(1), Buffer.from([0xff, 0xe0])],
          ['ID3 tags', slowMp3(1), Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1')],
          ['empty samples', mp4({ sizes: Array<number>((FILLED_MB / 4) * 1e6).fill(0) }), Buffer.from('\0')],
          ['empty RIFF chunks', wav().subarray(0, 36), riffChunk('junk', Buffer.alloc(0))],
        ],
        async (_, first, pattern) => void (await endOf(Buffer.concat([first, fill(pattern, FILLED_MB * 1e6)]))),
      ));
  });

  describe('that breaks off or goes on', () => {
    it.each(['webm', 'ogg', 'mp3', 'wav'] as const)('comes to an end wherever a %s is cut', async (format) => {
      const note = await shortNote(format);
      const cuts = Array.from({ length: CUTS }, (_, i) => Math.round(((i + 1) / CUTS) * note.length) - (i % 3));
      const rows = await endsOfAll(cuts.map((length) => note.subarray(0, length)));
      reportMeasurement(`${format} cut at ${CUTS} places: ${counts(rows)}`);
      // The last one lacks two bytes at most.
      expect(rows.some(({ status }) => status === 'transcribed')).toBe(true);
    });

    it('transcribes the first half of a webm of a browser that was cut in its middle', async () => {
      const note = await speech('ss-0880.mediarecorder.webm');
      const end = await endOf(note.subarray(0, note.length / 2));
      expect(end).toMatchObject({ status: 'transcribed' });
      expect(end.seconds).toBeGreaterThan(1);
      expect(end.seconds).toBeLessThan(2);
    });

    it('transcribes an ogg that was cut in mid-page, as far as it goes', async () => {
      const { head, packets } = await speechPackets();
      const bytes = oggOpus(packets, { head, packetsPerPage: 10 });
      const end = await endOf(bytes.subarray(0, Math.round(bytes.length * 0.7)));
      expect(end).toMatchObject({ status: 'transcribed' });
      expect(end.seconds).toBeGreaterThan(1.5);
      expect(end.seconds).toBeLessThan(2.3);
    });

    it('transcribes both links of a chained ogg', async () => {
      const { head, packets } = await speechPackets();
      const link = (serial: number): Buffer => oggOpus(packets, { head, serial });
      const end = await endOf(Buffer.concat([link(1), link(2)]));
      expect(end).toMatchObject({ status: 'transcribed', text: `${SENTENCE} ${SENTENCE}` });
    });

    it('comes to an end when the links of a chained ogg do not fit each other', async () => {
      const { head, packets } = await speechPackets();
      const links = [
        oggOpus(packets, { head, serial: 1 }),
        oggOpus(packets, { head: opusHead({ channels: 2 }), serial: 2 }),
        oggWithoutAudio(),
        oggPage([Buffer.from('\x01vorbis'), randomBytes(3, 50)], { serial: 9, flags: 2 }),
        oggOpus(packets, { head, serial: 3 }),
      ];
      expect(await endOf(Buffer.concat(links))).toMatchObject({ status: expect.stringMatching(/transcribed|failed/) });
    });

    it('transcribes speech with something else behind it', async () => {
      const note = await speech('go-forward-ten-meters.wav');
      expect(await endOf(Buffer.concat([note, randomBytes(5, 50_000)]))).toMatchObject({ text: SENTENCE });
    });
  });

  describe('of random bytes behind a right beginning', () => {
    it.each(FORMATS)(`comes to an end with every seed: %s`, async (format) => {
      const decoders = watchChildren(process.pid, 'ffmpeg');
      const rows = await endsOfAll(Array.from({ length: SEEDS }, (_, seed) => garbage(format, seed)));
      const { peak } = decoders.stop();
      reportMeasurement(`${SEEDS} seeds of ${format}: ${counts(rows)}, decoder at most ${mb(peak)}`);
      expect(peak).toBeLessThan(MEMORY_BYTES);
    });

    it.each(FORMATS)('comes to an end with damage in speech: %s', async (format) => {
      const { head, packets } = await speechPackets();
      // In pages of ten packets, since one that is damaged is dropped whole.
      const note = format === 'ogg' ? oggOpus(packets, { head, packetsPerPage: 10 }) : await shortNote(format);
      const damaged = Array.from({ length: SEEDS }, (_, seed) => {
        const bytes = Buffer.from(note);
        const noise = randomBytes(seed + 1, 60);
        for (let i = 0; i < noise.length; i += 3) {
          bytes[8 + (noise.readUInt16LE(i) % (i < 30 ? 400 : bytes.length - 8))] = noise[i + 2] as number;
        }
        return bytes;
      });
      const rows = await endsOfAll(damaged);
      reportMeasurement(`${SEEDS} damaged ${format}: ${counts(rows)}`);
    });
  });

  /** Uploads all, those that are refused apart, and waits until all have come to the one end that they may come to. */
  async function endsOfAll(all: Buffer[]): Promise<End[]> {
    const health = watchHealth(service.url);
    const ids: string[] = [];
    let refused = 0;
    for (const bytes of all) {
      const { status, body } = await client.upload(bytes);
      if (status === 201) ids.push(body.id);
      else {
        refused++;
        expect({ status, field: body.error?.details?.field }).toEqual({ status: 400, field: 'file' });
      }
    }
    const rows = await allEnded(ids, TERMINAL_MS + all.length * 5000);
    expect(await health.stop()).toBeLessThan(HEALTHY_MS);
    expect(
      rows.filter(
        ({ attempt, faults, run }) => !isDeepStrictEqual({ attempt, faults, run }, { attempt: 1, faults: 0, run: 1 }),
      ),
    ).toEqual([]);
    const [{ events }] = (await service.database.query(
      `SELECT count(*)::int AS events FROM events WHERE recording_id = ANY($1) AND kind <> 'recording.accepted'`,
      [ids],
    )) as [{ events: number }];
    expect(events).toBe(ids.length);
    if (refused > 0) reportMeasurement(`${refused} were refused at the upload`);
    return rows;
  }
});

const opusOf = (head: Parameters<typeof opusHead>[0]): Buffer =>
  oggOpus([randomBytes(1, 100)], { head: opusHead(head) });

/** MPEG-2.5 layer III, 8 kbit/s, 8 kHz, mono: 72 ms of nothing in 72 bytes. */
function slowMp3(seconds: number): Buffer {
  const frame = Buffer.alloc(72);
  frame.writeUInt32BE(0xffe318c4);
  return fill(frame, Math.ceil(seconds / 0.072) * 72);
}

function fill(pattern: Buffer, bytes: number): Buffer {
  return Buffer.alloc(Math.floor(bytes / pattern.length) * pattern.length, pattern);
}

/** An ID3v2.4 frame; its length has seven bits in a byte. */
function id3Frame(id: string, body: Buffer): Buffer {
  const header = Buffer.alloc(10);
  header.write(id, 0, 'latin1');
  for (const [i, shift] of [21, 14, 7, 0].entries()) header[4 + i] = (body.length >> shift) & 0x7f;
  return Buffer.concat([header, body]);
}

function riffChunk(id: string, body: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header.write(id, 0, 'latin1');
  header.writeUInt32LE(body.length, 4);
  return Buffer.concat([header, body]);
}

function counts(rows: End[]): string {
  const of = new Map<string, number>();
  for (const { status, reason } of rows) {
    const key = reason ? `${status} (${reason})` : status;
    of.set(key, (of.get(key) ?? 0) + 1);
  }
  return [...of].map(([key, count]) => `${count} ${key}`).join(', ');
}

const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
const ms = (time: number): string => `${Math.round(time)} ms`;
