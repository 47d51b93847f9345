import { BYTES_PER_SECOND } from '../audio/pcm.js';
import { FRAME_BYTES, FRAMES_PER_SECOND, type SpeechDetector } from '../speech/speech-detector.js';
import { UtteranceCutter, type UtterancePart } from './utterance-cutter.js';

/** Speech where the first sample of a frame is not 0. Answers `late` frames late. */
class FirstSampleDetector implements SpeechDetector {
  readonly knowsVoices = true;
  closed = false;
  private held: boolean[] = [];

  constructor(private readonly late = 0) {}

  detect(pcm: Buffer): boolean[] {
    for (let at = 0; at < pcm.length; at += FRAME_BYTES) this.held.push(pcm.readInt16LE(at) !== 0);
    return this.held.splice(0, Math.max(0, this.held.length - this.late));
  }

  end(): boolean[] {
    return this.held.splice(0);
  }

  close(): void {
    this.closed = true;
  }
}

/** Seconds of speech and of silence, in turn. */
const audio = (...seconds: number[]): Buffer =>
  Buffer.concat(
    seconds.map((length, index) => Buffer.alloc(length * FRAMES_PER_SECOND * FRAME_BYTES, index % 2 === 0 ? 1 : 0)),
  );

async function cut(cutter: UtteranceCutter, pcm: Buffer, step = 1001): Promise<UtterancePart[]> {
  const parts: UtterancePart[] = [];
  for (let at = 0; at < pcm.length; at += step) parts.push(...(await cutter.push(pcm.subarray(at, at + step))));
  return [...parts, ...(await cutter.end())];
}

/** Start, end and length of the audio of each utterance, in seconds. */
function utterances(parts: readonly UtterancePart[]): [start: number, end: number, seconds: number][] {
  const found: [number, number, number][] = [];
  for (const part of parts) {
    const last = found.at(-1);
    if (part.type === 'start') found.push([part.at, 0, 0]);
    else if (last && part.type === 'audio') last[2] += part.pcm.length / BYTES_PER_SECOND;
    else if (last && part.type === 'end') last[1] = part.at;
  }
  return found.map(([start, end, seconds]) => [rounded(start), rounded(end), rounded(seconds)]);
}

const rounded = (seconds: number): number => Math.round(seconds * 100) / 100;

describe('UtteranceCutter', () => {
  it.each([1001, 320, 64_000])('cuts at pauses, whatever comes at once (%i bytes)', async (step) => {
    const pcm = audio(0, 1, 2, 1, 1, 0.3, 1, 1);
    const found = utterances(await cut(new UtteranceCutter(15, new FirstSampleDetector(6)), pcm, step));
    // 0.3 s are kept on both sides; the pause of 0.6 s that ends an utterance was passed on already.
    expect(found).toEqual([
      [0.7, 3.3, 2.9],
      [3.7, 6.6, 3.2],
    ]);
  });

  it('cuts at the end and at the longest length alone where pauses do not count', async () => {
    const cutAtEnd = async (longest: number, pcm: Buffer) =>
      utterances(await cut(new UtteranceCutter(longest, new FirstSampleDetector(6), 0, false), pcm));
    expect(await cutAtEnd(15, audio(0, 1, 2, 3, 1))).toEqual([[0.7, 7, 6.3]]);
    expect(await cutAtEnd(2, audio(1, 4))).toEqual([[0, 2, 2]]);
    expect(await cutAtEnd(15, audio(0, 2))).toEqual([]);
  });

  it('passes nothing on in silence, nor for a click', async () => {
    expect(await cut(new UtteranceCutter(15, new FirstSampleDetector()), audio(0, 2, 0.05, 2))).toEqual([]);
  });

  it('loses no audio where speech is longer than an utterance may be', async () => {
    const found = utterances(await cut(new UtteranceCutter(2, new FirstSampleDetector()), audio(5)));
    expect(found).toEqual([
      [0, 2, 2],
      [2, 4, 2],
      [4, 5, 1],
    ]);
  });

  it('takes a shorter pause the longer an utterance gets', async () => {
    const [first] = utterances(
      await cut(new UtteranceCutter(10, new FirstSampleDetector()), audio(3, 0.4, 5.5, 0.4, 3)),
    );
    expect(first?.[1]).toBeGreaterThan(8.9);
    expect(first?.[1]).toBeLessThan(9.3);
  });

  it('counts times from where the stream begins in the recording, and ends with it', async () => {
    const detector = new FirstSampleDetector();
    const cutter = new UtteranceCutter(15, detector, 60);
    expect(utterances(await cut(cutter, audio(1)))).toEqual([[60, 61, 1]]);
    cutter.close();
    expect(detector.closed).toBe(true);
  });
});
