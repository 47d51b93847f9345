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
