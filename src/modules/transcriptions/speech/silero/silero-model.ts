import { fileURLToPath } from 'node:url';

/** Version 6.2 of Silero VAD for 16 kHz, under the MIT licence: see README.md in this folder for its source. */
export const SILERO_SHA256 = '7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49';

/** Beside this file, in src and in dist. */
export const SILERO_FILE = fileURLToPath(new URL('silero_vad_16k.onnx', import.meta.url));

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
