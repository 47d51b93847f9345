import { BYTES_PER_SAMPLE, SAMPLES_PER_SECOND } from './pcm.js';

export const FRAMES_PER_SECOND = 100;
const FRAME_SAMPLES = SAMPLES_PER_SECOND / FRAMES_PER_SECOND;
export const FRAME_BYTES = FRAME_SAMPLES * BYTES_PER_SAMPLE;

/** Speech stands out of the noise by this much. Steady noise varies by some 2 dB from frame to frame. */
const ABOVE_NOISE_DB = 9;
/** What is so much softer than the loudest speech is breath or room. */
const BELOW_LOUDEST_DB = 40;
/** Softer than this is silence whatever surrounds it. */
const SILENCE_DBFS = -66;
const NOISE_PERCENTILE = 0.1;
const LOUD_PERCENTILE = 0.98;
/** A shorter burst is a click, not speech. */
const MIN_RUN = 4;
/** First-order pre-emphasis as speech front ends use it: it takes hum, rumble and offset away. */
const PRE_EMPHASIS = 0.95;

/** The level of each whole 10 ms frame in dB of full scale. */
export function frameLevels(pcm: Buffer): number[] {
  const levels: number[] = [];
  let previous = 0;
  for (let offset = 0; offset + FRAME_BYTES <= pcm.length; offset += FRAME_BYTES) {
    let energy = 0;
    for (let at = offset; at < offset + FRAME_BYTES; at += BYTES_PER_SAMPLE) {
      const sample = pcm.readInt16LE(at) / 32_768;
      const difference = sample - PRE_EMPHASIS * previous;
      previous = sample;
      energy += difference * difference;
    }
    levels.push(10 * Math.log10(energy / FRAME_SAMPLES + 1e-12));
  }
  return levels;
}

/** Which frames hold speech, judged by their level against the noise and the loudest of the same stretch. */
export function speechFrames(levels: number[]): boolean[] {
  const sorted = levels.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? SILENCE_DBFS;
  const threshold = Math.max(at(NOISE_PERCENTILE) + ABOVE_NOISE_DB, at(LOUD_PERCENTILE) - BELOW_LOUDEST_DB, SILENCE_DBFS);
  const loud = levels.map((level) => level > threshold);
  return loud.map((isLoud, frame) => isLoud && runLength(loud, frame) >= MIN_RUN);
}

function runLength(loud: boolean[], frame: number): number {
  let from = frame;
  let to = frame;
  while (from > 0 && loud[from - 1] && to - from < MIN_RUN) from--;
  while (loud[to + 1] && to - from < MIN_RUN) to++;
  return to - from + 1;
}
