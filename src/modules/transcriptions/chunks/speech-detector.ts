import { BYTES_PER_SAMPLE, SAMPLES_PER_SECOND } from '../decoding/pcm.js';

export const FRAMES_PER_SECOND = 100;
const FRAME_SAMPLES = SAMPLES_PER_SECOND / FRAMES_PER_SECOND;
export const FRAME_BYTES = FRAME_SAMPLES * BYTES_PER_SAMPLE;

/** Speech stands out of the noise by this much; the level of steady noise wavers by less. */
const ABOVE_NOISE_DB = 9;
/** What is so much softer than the loudest speech is breath or room. */
const BELOW_LOUDEST_DB = 40;
/** Softer than this is silence whatever surrounds it. */
const SILENCE_DBFS = -70;
/** Even in fluent speech every tenth frame lies between words or in the closure of a consonant. */
const NOISE_PERCENTILE = 0.1;
const LOUD_PERCENTILE = 0.98;
/** A shorter burst is a click. */
const MIN_RUN = 4;
/** Pole of a first-order high pass at 100 Hz, which takes offset and rumble away. */
const HIGH_PASS = 0.96;
/** Levels that a block is judged by, its own included: 20 s. */
const MEMORY = 20 * FRAMES_PER_SECOND;
const FAINTEST = 1e-12;

/**
 * Tells frames of speech from silence and steady noise by their level. Judges block by block, against the noise and
 * the loudest of the block and of what came just before, so that it follows noise that changes.
 */
export class SpeechDetector {
  private recent: number[] = [];
  private previousIn = 0;
  private previousOut = 0;

  /** Judges the next stretch of audio: a whole number of frames, best some seconds of them. */
  judge(pcm: Buffer): boolean[] {
    const levels = this.levels(pcm);
    this.recent = [...this.recent, ...levels].slice(-Math.max(MEMORY, levels.length));
    const threshold = thresholdFor(this.recent);
    const loud = levels.map((level) => level > threshold);
    return loud.map((isLoud, frame) => isLoud && runLength(loud, frame) >= MIN_RUN);
  }

  /** Of each frame, in dB of full scale. */
  private levels(pcm: Buffer): number[] {
    const levels: number[] = [];
    for (let offset = 0; offset + FRAME_BYTES <= pcm.length; offset += FRAME_BYTES) {
      let energy = 0;
      for (let at = offset; at < offset + FRAME_BYTES; at += BYTES_PER_SAMPLE) {
        const sample = pcm.readInt16LE(at) / 32_768;
        this.previousOut = sample - this.previousIn + HIGH_PASS * this.previousOut;
        this.previousIn = sample;
        energy += this.previousOut * this.previousOut;
      }
      levels.push(10 * Math.log10(energy / FRAME_SAMPLES + FAINTEST));
    }
    return levels;
  }
}

function thresholdFor(levels: number[]): number {
  const sorted = levels.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? SILENCE_DBFS;
  return Math.max(at(NOISE_PERCENTILE) + ABOVE_NOISE_DB, at(LOUD_PERCENTILE) - BELOW_LOUDEST_DB, SILENCE_DBFS);
}

/** Length of the run of loud frames around a frame, counted to no more than is asked for. */
function runLength(loud: boolean[], frame: number): number {
  let from = frame;
  let to = frame;
  while (loud[from - 1] && to - from < MIN_RUN) from--;
  while (loud[to + 1] && to - from < MIN_RUN) to++;
  return to - from + 1;
}
