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
