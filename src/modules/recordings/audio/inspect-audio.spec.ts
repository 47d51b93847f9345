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
  type PretendedFormat,
  randomBytes,
  silentWebm,
} from '../../../../test/support/audio/audio-bytes.js';
import { startCpuTime } from '../../../../test/support/cpu-wait.js';
import type { AudioFormat } from '../../../platform/audio-formats.js';
import { detectFormat } from './audio-format.js';
import { FileWindow } from './file-window.js';
import { type AudioFacts, probeAudio } from './inspect-audio.js';

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
    expect(cpuMs()).toBeLessThan(1000);
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
