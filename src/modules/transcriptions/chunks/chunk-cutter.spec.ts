import type { AudioChunk } from '../engines/transcription-engine.js';
import { BYTES_PER_SECOND, SAMPLES_PER_SECOND } from '../decoding/pcm.js';
import { ChunkCutter } from './chunk-cutter.js';

const LOUD = 8_000;
const CHUNK_BYTES = 4_099; // odd, as a pipe may deliver

/** A repeatable noise of the given peak. */
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

/** Like speech in what a level meter sees: syllables of 200 ms with dips of 50 ms between them. */
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

function cut(pcm: Buffer, maxSeconds = 15): { pieces: AudioChunk[]; cutter: ChunkCutter } {
  const cutter = new ChunkCutter(maxSeconds);
  const pieces: AudioChunk[] = [];
  for (let at = 0; at < pcm.length; at += CHUNK_BYTES) pieces.push(...cutter.push(pcm.subarray(at, at + CHUNK_BYTES)));
  pieces.push(...cutter.end());
  return { pieces, cutter };
}

const lengthOf = ({ pcm }: AudioChunk): number => pcm.length / BYTES_PER_SECOND;

describe('PieceCutter', () => {
  it('keeps a short note in one piece', () => {
    const { pieces, cutter } = cut(speech(3));
    expect(pieces).toHaveLength(1);
    expect(pieces[0]).toMatchObject({ start: 0 });
    expect(cutter.durationSeconds).toBeCloseTo(3);
  });

  it.each([
    ['digital silence', silence(40)],
    ['steady noise', noise(40, 2_000)],
    ['faint noise', noise(40, 8)],
    ['hum', fill(40, (second) => Math.sin(2 * Math.PI * 50 * second) * 3_000)],
    ['an offset', fill(40, () => 5_000)],
    ['a click', Buffer.concat([silence(5), noise(0.02, 20_000), silence(5)])],
    ['nothing at all', silence(0)],
    ['a single byte', Buffer.alloc(1)],
  ])('finds no speech in %s', (_, pcm) => {
    const { pieces, cutter } = cut(pcm);
    expect(pieces).toHaveLength(0);
    expect(cutter.speechSeconds).toBe(0);
    expect(cutter.durationSeconds).toBeCloseTo(pcm.length / BYTES_PER_SECOND);
  });

  it('leaves long silence out and keeps the offset of what follows', () => {
    const { pieces } = cut(Buffer.concat([silence(20), speech(2), silence(30), speech(3), silence(4)]));
    expect(pieces.map((piece) => Math.round(piece.start))).toEqual([20, 52]);
    expect(pieces.map((piece) => Math.round(lengthOf(piece)))).toEqual([3, 4]);
  });

  it('keeps soft edges: a piece begins before its speech and ends after it', () => {
    const { pieces } = cut(Buffer.concat([silence(2), speech(2), silence(2)]));
    expect(pieces[0]!.start).toBeGreaterThan(1.5);
    expect(pieces[0]!.start).toBeLessThan(1.9);
    expect(pieces[0]!.start + lengthOf(pieces[0]!)).toBeGreaterThan(4.1);
  });

  it('cuts long speech at its pauses, never over the maximum', () => {
    const sentence = Buffer.concat([speech(4), silence(0.5)]);
    const { pieces } = cut(Buffer.concat(Array.from({ length: 12 }, () => sentence)));
    for (const piece of pieces) expect(lengthOf(piece)).toBeLessThanOrEqual(15);
    // A sentence and its pause take 4.5 s, so a cut inside a pause lies 4.0–4.5 s into the period.
    for (const piece of pieces.slice(1)) expect(piece.start % 4.5).toBeGreaterThan(3.9);
  });

  it('cuts speech without pauses at the maximum and loses none of it', () => {
    const { pieces, cutter } = cut(
      fill(
        50,
        (second) =>
          Math.sin(2 * Math.PI * (300 + 200 * Math.sin(7 * second)) * second) *
          LOUD *
          (0.02 + Math.sin(9 * second) ** 2),
      ),
    );
    expect(Math.max(...pieces.map(lengthOf))).toBeLessThanOrEqual(15);
    expect(pieces.reduce((sum, piece) => sum + lengthOf(piece), 0)).toBeGreaterThan(48);
    expect(cutter.speechSeconds).toBeGreaterThan(20);
  });

  it.each([
    ['loud', LOUD, 10],
    ['soft', 150, 1],
    ['in noise', LOUD, 800],
  ])('hears speech that is %s, and measures how much there is', (_, peak, noisePeak) => {
    const spoken = Buffer.concat([silence(2), speech(4, peak), silence(2), speech(4, peak), silence(2)]);
    const { cutter } = cut(mix(spoken, noise(14, noisePeak)));
    expect(cutter.speechSeconds).toBeGreaterThan(5);
    expect(cutter.speechSeconds).toBeLessThan(8.5);
  });

  it('follows noise that changes during the note', () => {
    const { pieces } = cut(
      Buffer.concat([noise(30, 30), mix(speech(3), noise(3, 30)), noise(30, 1_500), mix(speech(3), noise(3, 1_500))]),
    );
    expect(pieces.length).toBeGreaterThanOrEqual(2);
    expect(pieces.reduce((sum, piece) => sum + lengthOf(piece), 0)).toBeLessThan(30);
  });

  it('gives the same pieces however the audio is delivered', () => {
    const pcm = Buffer.concat([speech(9), silence(1), speech(9), silence(3), speech(2)]);
    const cutter = new ChunkCutter(15);
    const shape = (pieces: AudioChunk[]) => pieces.map((piece) => [piece.start, piece.pcm.length]);
    expect(shape([...cutter.push(pcm), ...cutter.end()])).toEqual(shape(cut(pcm).pieces));
  });

  it('makes pieces as long as the engine takes them', () => {
    const { pieces } = cut(Buffer.concat([speech(50), silence(1), speech(20)]), 60);
    expect(pieces.map((piece) => Math.round(lengthOf(piece)))).toEqual([50, 20]);
  });
});
