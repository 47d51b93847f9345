import fc from 'fast-check';
import {
  adtsFrames,
  amrFrames,
  flacFrames,
  inMemory,
  mp3WithTag,
  randomBytes,
} from '../../../../../test/support/audio/audio-bytes.js';
import { startCpuTime } from '../../../../../test/support/cpu-time.js';
import type { AudioFormat } from '../../../../platform/audio/audio-formats.js';
import { detectFormat } from '../formats/audio-format.js';
import { FileWindow } from '../formats/file-window.js';
import { type AudioFacts, probeAudio } from './audio-probe.js';

async function probe(bytes: Buffer, format: AudioFormat): Promise<AudioFacts> {
  const window = new FileWindow(inMemory(bytes), bytes.length);
  expect(await detectFormat(window)).toBe(format);
  return await probeAudio(window, format);
}

describe('probeAudio of formats that are counted frame by frame', () => {
  it('measures AAC in ADTS, also behind an ID3 tag, with junk in it and a tag at its end', async () => {
    const bytes = adtsFrames(125);
    const facts = { durationSeconds: 8, sampleRate: 16_000, channels: 1, codec: 'aac' };
    expect(await probe(bytes, 'aac')).toMatchObject(facts);
    expect(await probe(mp3WithTag(3000, bytes), 'aac')).toMatchObject(facts);
    const junk = Buffer.concat([bytes, randomBytes(3, 1000), bytes, Buffer.from('TAG'), Buffer.alloc(125)]);
    expect(await probe(junk, 'aac')).toMatchObject({ ...facts, durationSeconds: 16 });
    expect(await probe(bytes.subarray(0, -1), 'aac')).toMatchObject({ durationSeconds: 7.936 });
  });

  it.each([
    ['#!AMR\n', 0x3c, 32, 'amr_nb', 8000],
    ['#!AMR-WB\n', 0x44, 61, 'amr_wb', 16_000],
  ])('measures AMR, also with frames in which nothing was sent: %j', async (magic, type, length, codec, sampleRate) => {
    const facts = { sampleRate, channels: 1, codec };
    const bytes = amrFrames(magic, type, length, 100);
    expect(await probe(bytes, 'amr')).toMatchObject({ ...facts, durationSeconds: 2, bitRate: length * 8 * 50 });
    const silent = Buffer.concat([bytes, Buffer.alloc(50, 0x7c)]);
    expect(await probe(silent, 'amr')).toMatchObject({ ...facts, durationSeconds: 3 });
    expect(await probe(bytes.subarray(0, -1), 'amr')).toMatchObject({ durationSeconds: 1.98 });
    expect(await probe(Buffer.from(magic), 'amr')).toMatchObject({ durationSeconds: 0 });
  });

  it.each([false, true])('measures FLAC; blocks vary: %s', async (vary) => {
    const bytes = flacFrames(100, { vary });
    const facts = { durationSeconds: 25.6, sampleRate: 16_000, channels: 1, codec: 'flac' };
    expect(await probe(bytes, 'flac')).toMatchObject(facts);
    expect(await probe(mp3WithTag(3000, bytes), 'flac')).toMatchObject(facts);
    expect(await probe(bytes.subarray(0, bytes.length / 2), 'flac')).toMatchObject({
      durationSeconds: expect.closeTo(12.8, 0),
    });
    // What looks like a frame in the audio has no right checksum, or does not come next.
    const decoy = flacFrames(1, { vary, first: 5_000_000 }).subarray(-40);
    expect(await probe(Buffer.concat([bytes, Buffer.from('fff8a918', 'hex'), decoy]), 'flac')).toMatchObject(facts);
  });

  it.each<[AudioFormat, Buffer, string]>([
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

  it.each<[AudioFormat, Buffer]>([
    ['aac', adtsFrames(40)],
    ['amr', amrFrames('#!AMR-WB\n', 0x44, 61, 40)],
    ['flac', flacFrames(40)],
  ])('gives numbers that a database takes for %s with wrong bytes in it', async (format, original) => {
    const damage = fc.array(fc.tuple(fc.nat(original.length - 1), fc.nat(255)), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(damage, fc.nat(original.length), async (changes, length) => {
        const bytes = Buffer.from(original);
        for (const [position, value] of changes) bytes[position] = value;
        const part = bytes.subarray(0, length);
        const window = new FileWindow(inMemory(part), part.length);
        const { durationSeconds, sampleRate, channels, bitRate } = await probeAudio(window, format);
        for (const value of [durationSeconds * 1000, sampleRate ?? 0, channels ?? 0, bitRate ?? 0]) {
          expect(value >= 0 && value < 2 ** 31).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });
});
