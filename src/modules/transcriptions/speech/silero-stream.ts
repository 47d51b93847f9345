/** To the thread. `stream` names one recording; its first block opens it. */
export type SileroRequest =
  | { stream: number; pcm: Int16Array<ArrayBuffer>; last: boolean }
  /** The recording was given up, or has ended. */
  | { stream: number; close: true };

/** From the thread: one answer for each block, or why it can give none. */
export type SileroAnswer = { problem: string } | { stream: number; windows: boolean[] };

/** What Silero decides on at once: 32 ms. It also looks at the end of the window before. */
export const WINDOW_SAMPLES = 512;
/** The first window starts here: sherpa-onnx gives it the samples before as context, but none before the recording. */
export const CONTEXT_SAMPLES = 64;

/**
 * For decisions window by window: two windows above the threshold in a row start speech, two below end it. A longer pause
 * or burst is judged by ChunkCutter.
 */
export const SILERO_CONFIG = {
  sileroVad: {
    threshold: 0.5,
    minSpeechDuration: 0.001,
    minSilenceDuration: 0.001,
    // Longer speech would change the threshold. It is flushed before.
    maxSpeechDuration: 3600,
    windowSize: 512,
  },
  numThreads: 1,
  debug: 0,
};

/** The detector of sherpa-onnx, as far as it is used here. */
export interface Vad {
  acceptWaveform(samples: Float32Array): void;
  isDetected(): boolean;
  flush(): void;
  clear(): void;
  reset(): void;
}

/** sherpa-onnx decides on a window when it has the next one, and starts and ends speech one window late. */
const DELAY = 2;
/**
 * Windows of zeros, a second of them, after which further ones are no speech without asking the model: nobody speaks where
 * a microphone is muted, and the model would take half a minute of CPU time for two hours of it.
 */
const ZERO_WINDOWS = 32;
/** Full scale of 16-bit samples. */
const FULL_SCALE = 32_768;

/** One recording in one detector, window by window. */
export class SileroStream {
  private readonly window = new Float32Array(WINDOW_SAMPLES);
  /** Samples in `window`. */
  private filled = 0;
  private accepted = 0;
  private isZero = true;
  /** Windows of zeros in a row. */
  private zeros = 0;

  constructor(private readonly vad: Vad) {}

  /** @returns whether somebody speaks, for each window that can be decided on with this audio */
  detect(pcm: Int16Array): boolean[] {
    const windows: boolean[] = [];
    for (const sample of pcm) {
      this.window[this.filled++] = sample / FULL_SCALE;
      if (sample !== 0) this.isZero = false;
      if (this.filled < WINDOW_SAMPLES) continue;
      const isSpeech = this.accept();
      if (this.accepted > DELAY) windows.push(isSpeech);
    }
    return windows;
  }

  /** @returns the windows that are left, the last of them partly silence */
  end(): boolean[] {
    return this.detect(new Int16Array((DELAY + 1) * WINDOW_SAMPLES - this.filled));
  }

  /** The detector, for another recording. */
  release(): Vad {
    this.vad.reset();
    return this.vad;
  }

  private accept(): boolean {
    this.filled = 0;
    this.accepted++;
    this.zeros = this.isZero ? this.zeros + 1 : 0;
    this.isZero = true;
    if (this.zeros > ZERO_WINDOWS) return false;
    this.vad.acceptWaveform(this.window);
    const isSpeech = this.vad.isDetected();
    // Otherwise it would copy all speech so far with every window. Its judgement goes on as before.
    if (isSpeech) this.vad.flush();
    this.vad.clear();
    return isSpeech;
  }
}
