import { readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import {
  adtsFrames,
  amrFrames,
  flacFrames,
  garbage,
  inMemory,
  MAGIC,
  mp3WithTag,
  notAudio,
  type PretendedFormat,
  randomBytes,
  silentMp3,
  silentWebm,
  wav,
} from '../../../../test/support/audio/audio-bytes.js';
import { startCpuTime } from '../../../../test/support/cpu-wait.js';
import type { AudioFormat } from '../../../platform/audio-formats.js';
import { FileWindow } from './file-window.js';
import { type AudioFacts, detectFormat, probeAudio, unsupportedFormat } from './inspect-audio.js';

const FORMATS: PretendedFormat[] = ['webm', 'mp3', 'ogg', 'wav', 'm4a', 'flac'];

const speech = (name: string): Buffer => readFileSync(path.join(__dirname, '../../../../test/fixtures/speech', name));
const probe = (bytes: Buffer, format: AudioFormat): Promise<AudioFacts> =>
  probeAudio(new FileWindow(inMemory(bytes), bytes.length), format);

describe('probeAudio', () => {
  // The durations are those of what ffmpeg decodes.
  it.each([
    ['go-forward-ten-meters.webm', 'webm', 2.786, 48_000, 'opus'],
    ['ss-0880.mediarecorder.webm', 'webm', 2.994, 48_000, 'opus'],
    ['go-forward-ten-meters.mp3', 'mp3', 2.786, 44_100, 'mp3'],
    ['go-forward-ten-meters.ogg', 'ogg', 2.786, 48_000, 'opus'],
    ['go-forward-ten-meters.wav', 'wav', 2.786, 16_000, 'pcm_s16le'],
    ['jfk.wav', 'wav', 11, 16_000, 'pcm_s16le'],
  ] as const)('measures %s', async (name, format, seconds, sampleRate, codec) => {
    const facts = await probe(speech(name), format);
    expect(facts).toMatchObject({ sampleRate, channels: 1, codec });
    expect(Math.abs(facts.durationSeconds - seconds)).toBeLessThan(0.01);
    expect(facts.durationSeconds).toBe(Number(facts.durationSeconds.toFixed(3)));
  });

  it('gives the bit rate of the audio alone', async () => {
    expect((await probe(speech('jfk.wav'), 'wav')).bitRate).toBe(256_000);
    expect((await probe(speech('go-forward-ten-meters.mp3'), 'mp3')).bitRate).toBe(64_000);
    expect((await probe(speech('go-forward-ten-meters.ogg'), 'ogg')).bitRate).toBeGreaterThan(20_000);
  });

  it.each(FORMATS)('gives no length to a beginning of %s and random bytes, and does not throw', async (format) => {
    for (let seed = 0; seed < 200; seed++) {
      const facts = await probe(garbage(format, seed), format);
      expect(facts.durationSeconds).toBe(0);
    }
    expect(await probe(Buffer.alloc(0), format)).toMatchObject({ durationSeconds: 0, codec: null });
  });

  it.each<[AudioFormat, Buffer]>([
    ['webm', speech('go-forward-ten-meters.webm')],
    ['mp3', speech('go-forward-ten-meters.mp3')],
    ['ogg', speech('go-forward-ten-meters.ogg')],
    ['wav', speech('go-forward-ten-meters.wav')],
    ['aac', adtsFrames(40)],
    ['amr', amrFrames('#!AMR-WB\n', 0x44, 61, 40)],
    ['flac', flacFrames(40)],
  ])('gives numbers that a database takes for %s with wrong bytes in it', async (format, original) => {
    const place = fc.oneof(fc.nat(300), fc.nat(original.length - 1));
    const damage = fc.array(fc.tuple(place, fc.oneof(fc.constantFrom(0, 255), fc.nat(255))), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(damage, fc.nat(original.length), async (changes, length) => {
        const bytes = Buffer.from(original);
        for (const [position, value] of changes) bytes[position] = value;
        const { durationSeconds, sampleRate, channels, bitRate } = await probe(bytes.subarray(0, length), format);
        for (const value of [durationSeconds * 1000, sampleRate ?? 0, channels ?? 0, bitRate ?? 0]) {
          expect(value >= 0 && value < 2 ** 31).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });

  it.each<[AudioFormat, Buffer, string]>([
    ['webm', silentWebm(1), 'ec80'],
    ['webm', silentWebm(1), '1f43b67580'],
    ['webm', silentWebm(1), '1f43b6758000'],
    ['webm', silentWebm(1), 'ae80'],
    ['wav', MAGIC.wav, '6a756e6b00000000'],
    ['ogg', MAGIC.ogg, '4f676753'],
    ['ogg', MAGIC.ogg, '4f676753000000000000000000000100000000000000000000000000'],
    ['mp3', MAGIC.mp3, 'ff'],
    ['mp3', MAGIC.mp3, '49443304000000000000'],
    ['mp3', MAGIC.mp3, 'fff314c4'.padEnd(48, '0')],
    ['aac', adtsFrames(3), 'ff'],
    ['aac', adtsFrames(3), 'fff16040010000'],
    ['amr', amrFrames('#!AMR\n', 0x3c, 32, 3), '7c'],
    ['amr', amrFrames('#!AMR\n', 0x3c, 32, 3), '04'],
    ['flac', flacFrames(2), 'fff8'],
    ['flac', flacFrames(2), '00000000'],
    ['flac', Buffer.from('fLaC'), '00'],
  ])('reads 8 MB of %s at most once, whatever the content', async (format, start, filling) => {
    const bytes = Buffer.alloc(8_000_000, Buffer.from(filling, 'hex'));
    start.copy(bytes);
    const file = inMemory(bytes);
    const cpuMs = startCpuTime();
    await probeAudio(new FileWindow(file, bytes.length), format);
    expect(file.bytesRead).toBeLessThan(bytes.length * 1.1);
    // A tenth of a second. Of the whole process, which may do other things; reading again and again would take minutes.
    expect(cpuMs()).toBeLessThan(5000);
  });
});

async function detectAndProbe(bytes: Buffer, format: AudioFormat): Promise<AudioFacts> {
  const window = new FileWindow(inMemory(bytes), bytes.length);
  expect(await detectFormat(window)).toBe(format);
  return await probeAudio(window, format);
}

describe('probeAudio of formats that are counted frame by frame', () => {
  it('measures AAC in ADTS, also behind an ID3 tag, with junk in it and a tag at its end', async () => {
    const bytes = adtsFrames(125);
    const facts = { durationSeconds: 8, sampleRate: 16_000, channels: 1, codec: 'aac' };
    expect(await detectAndProbe(bytes, 'aac')).toMatchObject(facts);
    expect(await detectAndProbe(mp3WithTag(3000, bytes), 'aac')).toMatchObject(facts);
    const junk = Buffer.concat([bytes, randomBytes(3, 1000), bytes, Buffer.from('TAG'), Buffer.alloc(125)]);
    expect(await detectAndProbe(junk, 'aac')).toMatchObject({ ...facts, durationSeconds: 16 });
    expect(await detectAndProbe(bytes.subarray(0, -1), 'aac')).toMatchObject({ durationSeconds: 7.936 });
  });

  it.each([
    ['#!AMR\n', 0x3c, 32, 'amr_nb', 8000],
    ['#!AMR-WB\n', 0x44, 61, 'amr_wb', 16_000],
  ])('measures AMR, also with frames in which nothing was sent: %j', async (magic, type, length, codec, sampleRate) => {
    const facts = { sampleRate, channels: 1, codec };
    const bytes = amrFrames(magic, type, length, 100);
    expect(await detectAndProbe(bytes, 'amr')).toMatchObject({
      ...facts,
      durationSeconds: 2,
      bitRate: length * 8 * 50,
    });
    const silent = Buffer.concat([bytes, Buffer.alloc(50, 0x7c)]);
    expect(await detectAndProbe(silent, 'amr')).toMatchObject({ ...facts, durationSeconds: 3 });
    expect(await detectAndProbe(bytes.subarray(0, -1), 'amr')).toMatchObject({ durationSeconds: 1.98 });
    expect(await detectAndProbe(Buffer.from(magic), 'amr')).toMatchObject({ durationSeconds: 0 });
  });

  it.each([false, true])('measures FLAC; blocks vary: %s', async (vary) => {
    const bytes = flacFrames(100, { vary });
    const facts = { durationSeconds: 25.6, sampleRate: 16_000, channels: 1, codec: 'flac' };
    expect(await detectAndProbe(bytes, 'flac')).toMatchObject(facts);
    expect(await detectAndProbe(mp3WithTag(3000, bytes), 'flac')).toMatchObject(facts);
    expect(await detectAndProbe(bytes.subarray(0, bytes.length / 2), 'flac')).toMatchObject({
      durationSeconds: expect.closeTo(12.8, 0),
    });
    // What looks like a frame in the audio has no right checksum, or does not come next.
    const decoy = flacFrames(1, { vary, first: 5_000_000 }).subarray(-40);
    expect(await detectAndProbe(Buffer.concat([bytes, Buffer.from('fff8a918', 'hex'), decoy]), 'flac')).toMatchObject(
      facts,
    );
  });
});

const SPEECH = path.join(__dirname, '../../../../test/fixtures/speech');

const detect = (bytes: Buffer): Promise<AudioFormat | null> =>
  detectFormat(new FileWindow(inMemory(bytes), bytes.length));

describe('detectFormat', () => {
  it.each([
    ['go-forward-ten-meters.webm', 'webm'],
    ['ss-0880.mediarecorder.webm', 'webm'],
    ['go-forward-ten-meters.mp3', 'mp3'],
    ['go-forward-ten-meters.ogg', 'ogg'],
    ['go-forward-ten-meters.wav', 'wav'],
  ])('detects %s', async (name, format) => {
    expect(await detect(readFileSync(path.join(SPEECH, name)))).toBe(format);
  });

  it.each(Object.entries(notAudio))('rejects %s', async (_, bytes) => {
    expect(await detect(bytes())).toBeNull();
  });

  it.each(Object.keys(MAGIC) as PretendedFormat[])(
    'accepts a valid beginning of %s, whatever follows',
    async (format) => {
      for (let seed = 0; seed < 20; seed++) expect(await detect(garbage(format, seed))).toBe(format);
      expect(await detect(MAGIC[format])).toBe(format);
    },
  );

  it.each(Object.keys(MAGIC) as PretendedFormat[])('rejects half a beginning of %s', async (format) => {
    for (let length = 0; length < 4; length++) {
      expect(await detect(MAGIC[format].subarray(0, length))).toBeNull();
    }
  });

  it('skips an ID3 tag of 20 MB without reading it', async () => {
    const bytes = mp3WithTag(20_000_000);
    const file = inMemory(bytes);
    expect(await detectFormat(new FileWindow(file, bytes.length))).toBe('mp3');
    expect(file.bytesRead).toBeLessThan(300_000);
  });

  it('skips several ID3 tags, a footer and padding', async () => {
    const withFooter = mp3WithTag(200, Buffer.from('3DI\x04\x00\x10\x00\x00\x01\x3e', 'latin1'));
    withFooter[5] = 0x10;
    const padding = Buffer.alloc(1000);
    const tags = Buffer.concat([mp3WithTag(3000, Buffer.alloc(0)), withFooter, padding]);
    expect(await detect(Buffer.concat([tags, silentMp3(1)]))).toBe('mp3');
  });

  it('rejects a file of ID3 tags only', async () => {
    expect(await detect(mp3WithTag(500, Buffer.alloc(0)))).toBeNull();
    expect(await detect(mp3WithTag(20_000, Buffer.alloc(0)).subarray(0, 500))).toBeNull();
    expect(await detect(Buffer.alloc(100_000, mp3WithTag(10, Buffer.alloc(0))))).toBeNull();
  });

  it.each([
    ['a reserved version', 0xffebb0c4],
    ['layer I', 0xffffb0c4],
    ['the free bit rate', 0xfffb00c4],
    ['a bad bit rate', 0xfffbf0c4],
    ['a reserved sample rate', 0xfffbbcc4],
  ])('rejects an MPEG header with %s', async (_, header) => {
    const bytes = silentMp3(1);
    bytes.writeUInt32BE(header);
    expect(await detect(bytes)).toBeNull();
  });

  it.each([
    ['MPEG-1', 0xfffb90c4],
    ['MPEG-2', 0xfff390c4],
    ['MPEG-2.5', 0xffe390c4],
  ])('accepts layer III of %s', async (_, header) => {
    const bytes = silentMp3(1);
    bytes.writeUInt32BE(header);
    expect(await detect(bytes)).toBe('mp3');
  });

  it('accepts WAV with the lengths of a pipe, and RF64', async () => {
    const piped = wav({ data: Buffer.alloc(100), dataLength: 0xffffffff });
    expect(await detect(piped)).toBe('wav');
    piped.write('RF64', 'latin1');
    expect(await detect(piped)).toBe('wav');
  });

  it('reads the DocType of the EBML header, padded or not the first element', async () => {
    const padded = Buffer.from('1a45dfa38aec81004282857765626d00', 'hex');
    expect(await detect(padded)).toBe('webm');
    const missing = Buffer.from('1a45dfa38342868101', 'hex');
    expect(await detect(missing)).toBeNull();
    const beyondTheHeader = Buffer.concat([Buffer.from('1a45dfa380', 'hex'), silentWebm(1).subarray(5)]);
    expect(await detect(beyondTheHeader)).toBeNull();
  });

  it('rejects other versions of Ogg', async () => {
    expect(await detect(Buffer.from('OggS\x01', 'latin1'))).toBeNull();
  });
});

function reasonFor(bytes: Buffer): Promise<string> {
  return unsupportedFormat(new FileWindow(inMemory(bytes), bytes.length), ['webm', 'mp3', 'ogg', 'wav'], null);
}

describe('unsupportedFormat', () => {
  it.each([
    ['HEIF', Buffer.from('\0\0\0\x20ftypheic\0\0\0\0', 'latin1')],
    ['HEIF', Buffer.from('\0\0\0\x20ftypheim\0\0\0\0', 'latin1')],
    ['AVIF', Buffer.from('\0\0\0\x20ftypavif\0\0\0\0', 'latin1')],
    ['PNG', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')],
    ['PDF', Buffer.from('%PDF-1.7\n', 'latin1')],
    ['ZIP', Buffer.from('PK\x03\x04\x14\0', 'latin1')],
    ['text', Buffer.from('Dear customer,\nthank you for …')],
  ])('names %s', async (name, bytes) => {
    expect(await reasonFor(bytes)).toBe(`must be audio in webm, mp3, ogg or wav; this looks like ${name}`);
  });

  it('names a format that the operator does not accept', async () => {
    const file = new FileWindow({ read: async () => ({ bytesRead: 0 }) }, 0);
    expect(await unsupportedFormat(file, ['wav', 'm4a'], 'amr')).toBe('must be audio in wav or m4a; this is amr');
  });

  it.each([Buffer.alloc(0), Buffer.alloc(100), Buffer.from([1, 2, 3, 250])])('names nothing unknown', async (bytes) => {
    expect(await reasonFor(bytes)).toBe('must be audio in webm, mp3, ogg or wav');
  });
});
