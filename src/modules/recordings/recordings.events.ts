import type { Recording } from './recording.entity.js';

/** What other rooms, and extensions, may know of a recording. */
export type RecordingSnapshot = Readonly<
  Pick<
    Recording,
    | 'id'
    | 'accountId'
    | 'userId'
    | 'originalFilename'
    | 'audioFormat'
    | 'durationMs'
    | 'customTags'
    | 'status'
    | 'run'
    | 'createdAt'
    | 'processedAt'
  >
>;

/** What a recording became; times in seconds, confidence 0–1. */
export interface Transcript {
  text: string;
  confidence: number;
  language: string;
  provider: string;
  model: string;
  processingDurationMs: number;
  words: readonly { word: string; start: number; end: number; confidence: number | null }[];
}

/** A recording is stored and owed a transcription: it was uploaded, or a failed one is tried again. */
export class RecordingAccepted {
  constructor(readonly recording: RecordingSnapshot) {}
}

export class RecordingTranscribed {
  constructor(
    readonly recording: RecordingSnapshot,
    readonly transcript: Transcript,
  ) {}
}

export class RecordingFailed {
  constructor(
    readonly recording: RecordingSnapshot,
    /** In words for the client. */
    readonly reason: string,
  ) {}
}

export class RecordingDeleted {
  constructor(readonly recording: RecordingSnapshot) {}
}
