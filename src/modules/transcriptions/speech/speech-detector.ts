import { BYTES_PER_SAMPLE, SAMPLES_PER_SECOND } from '../decoding/pcm.js';

export const FRAMES_PER_SECOND = 100;
export const FRAME_SAMPLES = SAMPLES_PER_SECOND / FRAMES_PER_SECOND;
export const FRAME_BYTES = FRAME_SAMPLES * BYTES_PER_SAMPLE;

/** Finds the speech in one recording, frame by frame. */
export interface SpeechDetector {
  /**
   * Whether a frame that is not speech is certainly none, and not only soft. Then words that an engine reports there are
   * invented.
   */
  readonly knowsVoices: boolean;

  /**
   * Takes the next block of audio: whole frames, preferably several seconds of them.
   * @returns whether each frame is speech, in order. The last frames may come with the next block.
   */
  detect(pcm: Buffer): boolean[] | Promise<boolean[]>;

  /** @returns the frames that are left. */
  end(): boolean[] | Promise<boolean[]>;

  /** Frees what the detector holds. Called once for every recording, also for one that was given up. */
  close(): void;
}
