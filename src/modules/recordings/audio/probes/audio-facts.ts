/** Properties of a recording, read without decoding. Integers below 2^31, except the duration. */
export interface AudioFacts {
  /** Seconds, to the millisecond; 0 when it could not be read. */
  durationSeconds: number;
  /** Hz, as the file states it, even when that is absurd. */
  sampleRate: number | null;
  /** As the file states it: 0 and 65,535 are possible. */
  channels: number | null;
  /** Bit/s of the audio without the container. Null where the length is an estimate. */
  bitRate: number | null;
  /** As ffmpeg names it: `opus`, `vorbis`, `mp3`, `pcm_s16le`. */
  codec: string | null;
}

export const NOTHING_KNOWN: Readonly<AudioFacts> = {
  durationSeconds: 0,
  sampleRate: null,
  channels: null,
  bitRate: null,
  codec: null,
};

/**
 * Bytes that are no frame, such as a tag or a damaged part, after which the search for frames stops. To search 1 MB that
 * looks like the beginnings of frames would hold the event loop for 600 ms.
 */
export const MAX_JUNK_BYTES = 64 * 1024;
/** The least of MP3, and less than speech in AAC has. */
const LEAST_BIT_RATE = 8000;

/** How long the rest of a file may be that was not looked at: never too short, so that junk hides no audio from a quota. */
export const longestSeconds = (bytes: number): number => (Math.max(0, bytes) * 8) / LEAST_BIT_RATE;
