import type { AudioChunk } from '../engines/transcription-engine.js';
import { FRAME_BYTES, type SpeechDetector } from '../speech/speech-detector.js';
import { ChunkCutter } from './chunk-cutter.js';

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

async function cut(runs: readonly Run[], settings: Settings = {}) {
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
  return (await cut(runs, settings)).chunks.map(framesOf);
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
    const { cutter } = await cut([quiet(50), said(100), quiet(50), said(25), quiet(400), said(9)]);
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
    expect(await cuts([said(1501)], { maxSeconds: 15 })).toEqual(['0–1499']);
    expect(await cuts([said(1700)], { maxSeconds: 15.009 })).toEqual(['0–1499', '1500–1699']);
  });

  it('take the last pause up to the maximum too', async () => {
    expect((await cuts([said(1400), quiet(150), said(300)]))[0]).toMatch(/^0–14[45]\d$/);
  });

  it('come as early as the audio decides: after a long pause, not at the end', async () => {
    const { early, atEnd } = await cut([said(100), quiet(450), said(100)]);
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
    const { detector, chunks, cutter } = await cut([said(1234)], { moreBytes: 7 });
    expect(detector.blocks).toEqual([500, 500, 234]);
    expect(chunks.map(framesOf)).toEqual(['0–1233']);
    expect(cutter.durationSeconds).toBe((1234 * FRAME_BYTES + 7) / 32_000);
    expect(detector.closed).toBe(0);
    cutter.close();
    expect(detector.closed).toBe(1);
  });

  it('tell where somebody speaks in a chunk, if the detector knows voices', async () => {
    const runs = [quiet(50), said(100), quiet(50), said(25), quiet(400), said(30)];
    const { chunks } = await cut(runs, { knowsVoices: true });
    expect(chunks.map(({ speech }) => speech)).toEqual([
      [
        { start: 0.3, end: 1.3 },
        { start: 1.8, end: 2.05 },
      ],
      [{ start: 0.3, end: 0.6 }],
    ]);
    const { chunks: withoutVoices } = await cut(runs);
    expect(withoutVoices.map((chunk) => 'speech' in chunk)).toEqual([false, false]);
  });
});
