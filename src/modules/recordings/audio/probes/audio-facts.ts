/** What can be told about a recording without decoding it. Whole numbers but for the duration, all below 2^31. */
export interface AudioFacts {
  /** Seconds, to the millisecond; 0 where nothing could be read. */
  durationSeconds: number;
  /** Hz, as the file states it: it may be absurd. */
  sampleRate: number | null;
  /** As the file states it: 0 and 65,535 are possible. */
  channels: number | null;
  /** Bit/s of the audio, the container not counted. */
  bitRate: number | null;
  /** In ffmpeg's words: `opus`, `vorbis`, `mp3`, `pcm_s16le`. */
  codec: string | null;
}

export const NOTHING_KNOWN: Readonly<AudioFacts> = {
  durationSeconds: 0,
  sampleRate: null,
  channels: null,
  bitRate: null,
  codec: null,
};
