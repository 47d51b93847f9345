import type { AudioChunk } from '../engines/transcription-engine.js';
import { BYTES_PER_SECOND, SAMPLES_PER_SECOND } from '../decoding/pcm.js';
import { EnergyDetector } from '../speech/energy-detector.js';
import { ChunkCutter } from './chunk-cutter.js';

const LOUD = 8_000;
/** Odd, as a pipe may deliver. */
const BUFFER_BYTES = 4_099;

/** Reproducible noise of the given peak. */
function noise(seconds: number, peak: number): Buffer {
  let state = 42;
  return fill(seconds, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return (state / 1_073_741_824 - 1) * peak;
  });
}

function silence(seconds: number): Buffer {
  return Buffer.alloc(Math.round(seconds * BYTES_PER_SECOND));
}

/** Like speech to a level meter: syllables of 200 ms with pauses of 50 ms between them. */
function speech(seconds: number, peak = LOUD): Buffer {
  return fill(seconds, (second) => {
    const loudness = second % 0.25 < 0.2 ? 1 : 0.01;
    return Math.sin(2 * Math.PI * 700 * second) * peak * loudness;
  });
}

function fill(seconds: number, sample: (second: number) => number): Buffer {
  const pcm = silence(seconds);
  for (let i = 0; i < pcm.length / 2; i++) pcm.writeInt16LE(Math.round(sample(i / SAMPLES_PER_SECOND)), i * 2);
  return pcm;
}

function mix(a: Buffer, b: Buffer): Buffer {
  const sum = Buffer.alloc(a.length);
  for (let at = 0; at < a.length; at += 2) sum.writeInt16LE(a.readInt16LE(at) + b.readInt16LE(at), at);
  return sum;
}

async function cut(pcm: Buffer, maxSeconds = 15): Promise<{ chunks: AudioChunk[]; cutter: ChunkCutter }> {
  const cutter = new ChunkCutter(maxSeconds, new EnergyDetector());
  const chunks: AudioChunk[] = [];
  for (let at = 0; at < pcm.length; at += BUFFER_BYTES)
    for await (const chunk of cutter.push(pcm.subarray(at, at + BUFFER_BYTES))) chunks.push(chunk);
  for await (const chunk of cutter.end()) chunks.push(chunk);
  return { chunks, cutter };
}

const lengthOf = ({ pcm }: AudioChunk): number => pcm.length / BYTES_PER_SECOND;

describe('ChunkCutter', () => {
  it('keeps a short recording in one chunk', async () => {
    const { chunks, cutter } = await cut(speech(3));
    expect(chunks).toHaveLength(1);
    expect(chunks[0]).toMatchObject({ start: 0 });
    expect(cutter.durationSeconds).toBeCloseTo(3);
  });

  it.each([
    ['digital silence', silence(40)],
    ['steady noise', noise(40, 2_000)],
    ['faint noise', noise(40, 8)],
    ['hum', fill(40, (second) => Math.sin(2 * Math.PI * 50 * second) * 3_000)],
    ['an offset', fill(40, () => 5_000)],
    ['a click', Buffer.concat([silence(5), noise(0.02, 20_000), silence(5)])],
    ['no audio', silence(0)],
    ['a single byte', Buffer.alloc(1)],
  ])('finds no speech in %s', async (_, pcm) => {
    const { chunks, cutter } = await cut(pcm);
    expect(chunks).toHaveLength(0);
    expect(cutter.speechSeconds).toBe(0);
    expect(cutter.durationSeconds).toBeCloseTo(pcm.length / BYTES_PER_SECOND);
  });

  it('leaves long silence out and keeps the start times of the rest', async () => {
    const { chunks } = await cut(Buffer.concat([silence(20), speech(2), silence(30), speech(3), silence(4)]));
    expect(chunks.map((chunk) => Math.round(chunk.start))).toEqual([20, 52]);
    expect(chunks.map((chunk) => Math.round(lengthOf(chunk)))).toEqual([3, 4]);
  });

  it.each([
    [1.7, 1],
    [2.4, 2],
  ])('of speech with a pause of %s s makes %s', async (pause, count) => {
    const { chunks } = await cut(Buffer.concat([speech(2), silence(pause), speech(2)]));
    expect(chunks).toHaveLength(count);
  });

  it('pads speech on both sides', async () => {
    const { chunks } = await cut(Buffer.concat([silence(2), speech(2), silence(2)]));
    expect(chunks[0]!.start).toBeGreaterThan(1.5);
    expect(chunks[0]!.start).toBeLessThan(1.9);
    expect(chunks[0]!.start + lengthOf(chunks[0]!)).toBeGreaterThan(4.1);
  });

  it('cuts long speech at its pauses, within the maximum length', async () => {
    const sentence = Buffer.concat([speech(4), silence(0.5)]);
    const { chunks } = await cut(Buffer.concat(Array.from({ length: 12 }, () => sentence)));
    for (const chunk of chunks) expect(lengthOf(chunk)).toBeLessThanOrEqual(15);
    // A sentence with its pause takes 4.5 s, so a cut inside a pause is 4.0–4.5 s into the period.
    for (const chunk of chunks.slice(1)) expect(chunk.start % 4.5).toBeGreaterThan(3.9);
  });

  it('cuts speech without pauses at the maximum length and loses none of it', async () => {
    const { chunks, cutter } = await cut(
      fill(
        50,
        (second) =>
          Math.sin(2 * Math.PI * (300 + 200 * Math.sin(7 * second)) * second) *
          LOUD *
          (0.02 + Math.sin(9 * second) ** 2),
      ),
    );
    expect(Math.max(...chunks.map(lengthOf))).toBeLessThanOrEqual(15);
    expect(chunks.reduce((sum, chunk) => sum + lengthOf(chunk), 0)).toBeGreaterThan(48);
    expect(cutter.speechSeconds).toBeGreaterThan(20);
  });

  it.each([
    ['loud', LOUD, 10],
    ['soft', 150, 1],
    ['in noise', LOUD, 800],
  ])('detects %s speech and measures its length', async (_, peak, noisePeak) => {
    const spoken = Buffer.concat([silence(2), speech(4, peak), silence(2), speech(4, peak), silence(2)]);
    const { cutter } = await cut(mix(spoken, noise(14, noisePeak)));
    expect(cutter.speechSeconds).toBeGreaterThan(5);
    expect(cutter.speechSeconds).toBeLessThan(8.5);
  });

  it('adapts to noise that changes during the recording', async () => {
    const { chunks } = await cut(
      Buffer.concat([noise(30, 30), mix(speech(3), noise(3, 30)), noise(30, 1_500), mix(speech(3), noise(3, 1_500))]),
    );
    expect(chunks.length).toBeGreaterThanOrEqual(2);
    expect(chunks.reduce((sum, chunk) => sum + lengthOf(chunk), 0)).toBeLessThan(30);
  });

  it('gives the same chunks whatever the size of the buffers', async () => {
    const pcm = Buffer.concat([speech(9), silence(1), speech(9), silence(3), speech(2)]);
    const cutter = new ChunkCutter(15, new EnergyDetector());
    const whole: AudioChunk[] = [];
    for await (const chunk of cutter.push(pcm)) whole.push(chunk);
    for await (const chunk of cutter.end()) whole.push(chunk);
    const shape = (chunks: AudioChunk[]) => chunks.map((chunk) => [chunk.start, chunk.pcm.length]);
    expect(shape(whole)).toEqual(shape((await cut(pcm)).chunks));
  });

  it('makes chunks up to the length that the engine takes', async () => {
    const { chunks } = await cut(Buffer.concat([speech(50), silence(1), speech(20)]), 60);
    expect(chunks.map((chunk) => Math.round(lengthOf(chunk)))).toEqual([50, 20]);
  });
});
