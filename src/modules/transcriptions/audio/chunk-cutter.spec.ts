import type { AudioChunk } from '../engines/transcription-engine.js';
import { EnergyDetector, FRAME_BYTES, type SpeechDetector } from '../speech/speech-detector.js';
import { ChunkCutter } from './chunk-cutter.js';
import { BYTES_PER_SECOND, SAMPLES_PER_SECOND } from './pcm.js';

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

/** Frames of 10 ms: how many, and whether they are speech. */
type Run = readonly [frames: number, isSpeech: boolean];

const said = (frames: number): Run => [frames, true];
const quiet = (frames: number): Run => [frames, false];

/** Knows the speech of one recording. May tell the last frames of a block only with the next one. */
class ScriptedDetector implements SpeechDetector {
  readonly blocks: number[] = [];
  closed = 0;
  private heard = 0;
  private told = 0;

  constructor(
    private readonly flags: readonly boolean[],
    readonly knowsVoices: boolean,
    private readonly late: number,
  ) {}

  async detect(pcm: Buffer): Promise<boolean[]> {
    await Promise.resolve();
    this.blocks.push(pcm.length / FRAME_BYTES);
    this.heard += pcm.length / FRAME_BYTES;
    return this.tell(Math.max(this.told, this.heard - this.late));
  }

  async end(): Promise<boolean[]> {
    await Promise.resolve();
    return this.tell(this.heard);
  }

  close(): void {
    this.closed++;
  }

  private tell(to: number): boolean[] {
    const flags = this.flags.slice(this.told, to);
    this.told = to;
    return flags;
  }
}

interface Settings {
  maxSeconds?: number;
  knowsVoices?: boolean;
  late?: number;
  /** After the last whole frame. */
  moreBytes?: number;
}

async function cutRuns(runs: readonly Run[], settings: Settings = {}) {
  const { maxSeconds = 15, knowsVoices = false, late = 0, moreBytes = 0 } = settings;
  const flags = runs.flatMap(([frames, isSpeech]) => Array.from({ length: frames }, () => isSpeech));
  const detector = new ScriptedDetector(flags, knowsVoices, late);
  const cutter = new ChunkCutter(maxSeconds, detector);
  const early: AudioChunk[] = [];
  const atEnd: AudioChunk[] = [];
  // Every frame holds its own number, so that what a chunk contains can be read from it.
  const pcm = Buffer.alloc(flags.length * FRAME_BYTES + moreBytes);
  flags.forEach((_, frame) => pcm.writeUInt32LE(frame, frame * FRAME_BYTES));
  for await (const chunk of cutter.push(pcm)) early.push(chunk);
  for await (const chunk of cutter.end()) atEnd.push(chunk);
  return { early, atEnd, chunks: [...early, ...atEnd], detector, cutter };
}

/** The first and the last frame of a chunk, by what it contains; its start must agree. */
function framesOf({ pcm, start }: AudioChunk): string {
  const first = pcm.readUInt32LE(0);
  expect(start).toBe(first / 100);
  return `${first}–${pcm.readUInt32LE(pcm.length - FRAME_BYTES)}`;
}

async function cuts(runs: readonly Run[], settings?: Settings): Promise<string[]> {
  return (await cutRuns(runs, settings)).chunks.map(framesOf);
}

describe('the cuts of ChunkCutter', () => {
  it('keep 0.3 s of audio before and after speech, as far as there is some', async () => {
    expect(await cuts([quiet(100), said(100), quiet(100)])).toEqual(['70–229']);
    expect(await cuts([quiet(10), said(100), quiet(10)])).toEqual(['0–119']);
    expect(await cuts([said(100)])).toEqual(['0–99']);
  });

  it('leave out what is less than 0.1 s of speech', async () => {
    expect(await cuts([quiet(100), said(9), quiet(100)])).toEqual([]);
    expect(await cuts([quiet(100), said(10), quiet(100)])).toEqual(['70–139']);
    expect(await cuts([said(9), quiet(300), said(10)])).toEqual(['279–318']);
  });

  it('count the speech of the chunks without pauses', async () => {
    const { cutter } = await cutRuns([quiet(50), said(100), quiet(50), said(25), quiet(400), said(9)]);
    expect([cutter.speechSeconds, cutter.durationSeconds]).toEqual([1.25, 6.34]);
  });

  it.each([
    [199, ['70–529']],
    [200, ['70–229', '370–530']],
    [260, ['70–229', '430–590']],
  ])('leave out the middle of a pause of 2 s or more: %s frames', async (pause, expected) => {
    expect(await cuts([quiet(100), said(100), quiet(pause), said(101), quiet(30)])).toEqual(expected);
  });

  it('come at the first long pause of several', async () => {
    const runs = [said(100), quiet(200), said(100), quiet(300), said(100)];
    expect(await cuts(runs)).toEqual(['0–129', '270–429', '670–799']);
  });

  it('come in the middle of the longest pause of speech that is too long, after a third of the maximum', async () => {
    const runs = [said(400), quiet(100), said(200), quiet(20), said(300), quiet(60), said(200), quiet(40), said(500)];
    // 1500 frames at most; the pauses begin at 400, 700, 1020 and 1280.
    expect(await cuts(runs)).toEqual(['0–1049', '1050–1819']);
  });

  it.each([
    [499, '0–1249'],
    [500, '0–550'],
  ])('come in no pause before a third of the maximum: one at frame %s', async (start, first) => {
    expect((await cuts([said(start), quiet(101), said(1200 - start - 101), quiet(100), said(900)]))[0]).toBe(first);
  });

  it.each([
    [14, '0–1499'],
    [15, '0–1007'],
    [16, '0–1007'],
  ])('come in no pause of less than 0.15 s: one of %s frames', async (pause, first) => {
    expect((await cuts([said(1000), quiet(pause), said(800)]))[0]).toBe(first);
  });

  it('come at the maximum where there is no pause', async () => {
    expect(await cuts([said(1500)])).toEqual(['0–1499']);
    expect(await cuts([said(1501)], { maxSeconds: 15 })).toEqual(['0–1499', '1300–1500']);
    expect(await cuts([said(1700)], { maxSeconds: 15.009 })).toEqual(['0–1499', '1300–1699']);
  });

  it('divide no word there: the next chunk begins 2 s before, or a sixth of the maximum', async () => {
    const { chunks, cutter } = await cutRuns([said(5000)]);
    expect(chunks.map(framesOf)).toEqual(['0–1499', '1300–2799', '2600–4099', '3900–4999']);
    expect(chunks.map(({ continues }) => continues)).toEqual([true, true, true, undefined]);
    // What two chunks have in common counts once.
    expect(cutter.speechSeconds).toBe(50);
    expect(await cuts([said(1500)], { maxSeconds: 6 })).toEqual(['0–599', '500–1099', '1000–1499']);
  });

  it('are as before at pauses, also behind a cut within speech', async () => {
    const { chunks } = await cutRuns([said(1600), quiet(300), said(200), quiet(50)]);
    expect(chunks.map(framesOf)).toEqual(['0–1499', '1300–1629', '1870–2129']);
    expect(chunks.map(({ continues }) => continues)).toEqual([true, undefined, undefined]);
  });

  it('make no chunk that has nothing new', async () => {
    const { chunks, cutter } = await cutRuns([said(1492), quiet(300), said(200), quiet(50)]);
    expect(chunks.map(framesOf)).toEqual(['0–1499', '1762–2021']);
    expect(cutter.speechSeconds).toBe(16.92);
  });

  it('take the last pause up to the maximum too', async () => {
    expect((await cuts([said(1400), quiet(150), said(300)]))[0]).toMatch(/^0–14[45]\d$/);
  });

  it('come as early as the audio decides: after a long pause, not at the end', async () => {
    const { early, atEnd } = await cutRuns([said(100), quiet(450), said(100)]);
    expect([early.map(framesOf), atEnd.map(framesOf)]).toEqual([['0–129'], ['520–649']]);
  });

  it('are the same when the detector tells its last frames later', async () => {
    const runs = [quiet(480), said(700), quiet(300), said(150), quiet(20), said(400)];
    expect(await cuts(runs, { late: 30 })).toEqual(await cuts(runs));
  });

  it('lose no speech at the end of a block without speech', async () => {
    expect(await cuts([quiet(500), said(100), quiet(400)])).toEqual(['470–629']);
    expect(await cuts([quiet(1000), said(100)], { late: 20 })).toEqual(['970–1099']);
  });

  it('hand blocks of 5 s to the detector, and at the end what is left of whole frames', async () => {
    const { detector, chunks, cutter } = await cutRuns([said(1234)], { moreBytes: 7 });
    expect(detector.blocks).toEqual([500, 500, 234]);
    expect(chunks.map(framesOf)).toEqual(['0–1233']);
    expect(cutter.durationSeconds).toBe((1234 * FRAME_BYTES + 7) / 32_000);
    expect(detector.closed).toBe(0);
    cutter.close();
    expect(detector.closed).toBe(1);
  });

  it('tell where somebody speaks in a chunk, if the detector knows voices', async () => {
    const runs = [quiet(50), said(100), quiet(50), said(25), quiet(400), said(30)];
    const { chunks } = await cutRuns(runs, { knowsVoices: true });
    expect(chunks.map((chunk) => chunk.speech)).toEqual([
      [
        { start: 0.3, end: 1.3 },
        { start: 1.8, end: 2.05 },
      ],
      [{ start: 0.3, end: 0.6 }],
    ]);
    const { chunks: withoutVoices } = await cutRuns(runs);
    expect(withoutVoices.map((chunk) => 'speech' in chunk)).toEqual([false, false]);
  });
});
