/** A voice from `start` to `end`, in seconds. `speaker`: 0 is the first that is heard. Two may overlap. */
export interface SpeakerSegment {
  start: number;
  end: number;
  speaker: number;
}

export interface DiarizeInput {
  /** A file of raw 16 kHz, mono, signed 16-bit little-endian samples. */
  pcmFile: string;
  /** Its length. */
  seconds: number;
  /** The most that there are; null: find out. */
  speakers: number | null;
  /** Whose share of the processes it uses. */
  accountId: string;
  /** Other recordings go first. */
  isBackground?: boolean;
  signal: AbortSignal;
}
