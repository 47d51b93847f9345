import { readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import {
  garbage,
  inMemory,
  MAGIC,
  type PretendedFormat,
  silentWebm,
} from '../../../../../test/support/audio/audio-bytes.js';
import type { AudioFormat } from '../../../../platform/audio/audio-formats.js';
import { FileWindow } from '../formats/file-window.js';
import { type AudioFacts, probeAudio } from './audio-probe.js';

const FORMATS: PretendedFormat[] = ['webm', 'mp3', 'ogg', 'wav', 'm4a', 'flac'];

const speech = (name: string): Buffer =>
  readFileSync(path.join(__dirname, '../../../../../test/fixtures/speech', name));
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

  it.each([
    ['go-forward-ten-meters.webm', 'webm'],
    ['go-forward-ten-meters.mp3', 'mp3'],
    ['go-forward-ten-meters.ogg', 'ogg'],
    ['go-forward-ten-meters.wav', 'wav'],
  ] as const)('gives numbers that a database takes for %s with wrong bytes in it', async (name, format) => {
    const original = speech(name);
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

  it('reads a file at most once, whatever the content', async () => {
    const webmStart = silentWebm(1);
    const hostile: [AudioFormat, Buffer, string][] = [
      ['webm', webmStart, 'ec80'],
      ['webm', webmStart, '1f43b67580'],
      ['webm', webmStart, '1f43b6758000'],
      ['webm', webmStart, 'ae80'],
      ['wav', MAGIC.wav, '6a756e6b00000000'],
      ['ogg', MAGIC.ogg, '4f676753'],
      ['ogg', MAGIC.ogg, '4f676753000000000000000000000100000000000000000000000000'],
      ['mp3', MAGIC.mp3, 'ff'],
      ['mp3', MAGIC.mp3, '49443304000000000000'],
      ['mp3', MAGIC.mp3, 'fff314c4'.padEnd(48, '0')],
    ];
    for (const [format, start, filling] of hostile) {
      const bytes = Buffer.alloc(4_000_000, Buffer.from(filling, 'hex'));
      start.copy(bytes);
      const file = inMemory(bytes);
      await probeAudio(new FileWindow(file, bytes.length), format);
      expect(file.bytesRead).toBeLessThan(bytes.length * 1.1);
    }
  });
});
