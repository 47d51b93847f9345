import { SAMPLES_PER_SECOND } from '../../../audio/pcm.js';
import type { SpeechSection } from '../../transcription-engine.js';

const FRAME_SAMPLES = 320;
/** Share of the loudest frame: 26 dB below it. */
const RELATIVE = 0.05;
/** −60 dB of full scale: less is no speech. */
const FLOOR = 0.001;

/** From the first to the last sound in a chunk: where its words are when the recogniser gives no times. */
export function speechBounds(samples: Float32Array): SpeechSection {
  const levels: number[] = [];
  for (let start = 0; start < samples.length; start += FRAME_SAMPLES) {
    const frame = samples.subarray(start, start + FRAME_SAMPLES);
    levels.push(Math.sqrt(frame.reduce((sum, sample) => sum + sample * sample, 0) / frame.length));
  }
  const threshold = Math.max(FLOOR, RELATIVE * levels.reduce((max, level) => Math.max(max, level), 0));
  const first = levels.findIndex((level) => level >= threshold);
  const last = levels.findLastIndex((level) => level >= threshold);
  const seconds = samples.length / SAMPLES_PER_SECOND;
  const at = (frame: number): number => Math.min(seconds, (frame * FRAME_SAMPLES) / SAMPLES_PER_SECOND);
  return first < 0 ? { start: 0, end: seconds } : { start: at(first), end: at(last + 1) };
}
