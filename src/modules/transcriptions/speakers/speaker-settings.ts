import { BYTES_PER_SAMPLE, SAMPLES_PER_SECOND } from '../audio/pcm.js';

/** What the child process is started with. */
export interface SpeakerSettings {
  /** Absolute paths of the models. */
  segmentation: string;
  embedding: string;
  /** Samples in a window of the segmentation. */
  window: number;
  /** Cosine distance up to which two voices are one person. */
  threshold: number;
}

/** What the child is asked about a recording. */
export interface SpeakerOptions {
  /** The most that there are; null: find out. */
  speakers: number | null;
}

/** sherpa-onnx moves the window by a tenth of its length. */
const WINDOW_SHIFT = 0.1;

/** Windows that sherpa-onnx looks at. */
export function windowsOf(samples: number, window: number): number {
  return samples <= window ? 1 : 1 + Math.ceil((samples - window) / shiftOf(window));
}

/**
 * Samples with the silence that fills the last window. sherpa-onnx fills it itself, but ends the process when the
 * segmentation hears a voice there, because it has no audio of it.
 */
export function paddedSamples(samples: number, window: number): number {
  return window + (windowsOf(samples, window) - 1) * shiftOf(window);
}

const shiftOf = (window: number): number => Math.floor(WINDOW_SHIFT * window);

/** Samples as floats, and what the segmentation says of ten windows for each second: measured 101 kB. */
const BYTES_PER_AUDIO_SECOND = 4 * SAMPLES_PER_SECOND + 40_000;
/**
 * The distance of every two voices that a window was heard with. Most windows of a conversation have two, three is what
 * the segmentation knows.
 */
const VOICES_PER_AUDIO_SECOND = 2.5;
const BYTES_PER_SQUARE = (8 * VOICES_PER_AUDIO_SECOND ** 2) / 2;

/** Memory that the speakers of a recording take beside the models. */
export function bytesFor(seconds: number): number {
  return BYTES_PER_AUDIO_SECOND * seconds + BYTES_PER_SQUARE * seconds ** 2;
}

/** The longest recording for which the memory suffices. */
export function secondsFor(bytes: number): number {
  const half = BYTES_PER_AUDIO_SECOND / (2 * BYTES_PER_SQUARE);
  return Math.sqrt(half ** 2 + bytes / BYTES_PER_SQUARE) - half;
}

/** More would not fit into the 32 bits that tell a child the length of its audio. */
export const MAX_SECONDS = Math.floor((2 ** 32 - 1) / (SAMPLES_PER_SECOND * BYTES_PER_SAMPLE));
