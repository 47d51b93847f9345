import type { Recording, Rerun } from './recording.entity.js';

/** A recording as other modules and extensions see it. */
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

/** A transcript. Times are in seconds, confidence is 0 to 1. */
export interface Transcript {
  text: string;
  confidence: number;
  language: string;
  provider: string;
  model: string;
  processingDurationMs: number;
  words: readonly {
    word: string;
    start: number;
    end: number;
    confidence: number | null;
    channel?: number;
    speaker?: string;
  }[];
}

/**
 * A recording is to be transcribed: it was uploaded, or a failed one is retried (`run` above 1). The statement that
 * inserts an upload has its row as the CTE `accepted`, for writes that join it.
 */
export class RecordingAccepted {
  constructor(
    readonly recording: RecordingSnapshot,
    /** What came with the upload; null at a retry. */
    readonly upload: UploadExtras | null = null,
    /** It is retried without a file: its link has to be fetched again. */
    readonly needsLink = false,
  ) {}
}

/** What an upload may have beside its fields that are columns of the recording. Both may hold secrets. */
export interface UploadExtras {
  /** In place of the file (D72). */
  url: string | null;
  /** Who is told of this recording alone (D73). */
  callback: { url: string; secret: string } | null;
}

/** The file of a recording that was uploaded by its link is stored: now it can be transcribed. */
export class RecordingFetched {
  constructor(readonly recording: RecordingSnapshot) {}
}

/** A transcribed recording is to be transcribed again, and its text served until then (D49). */
export class RerunRequested {
  constructor(readonly recording: RecordingSnapshot) {}
}

export class RecordingTranscribed {
  constructor(
    readonly recording: RecordingSnapshot,
    readonly transcript: Transcript,
    /** Why it was transcribed again; null otherwise. `quiet`: nobody outside is to be told. */
    readonly rerun: Rerun | null = null,
  ) {}
}

/** After a failed rerun the recording stays `transcribed` and keeps its text. */
export class RecordingFailed {
  constructor(
    readonly recording: RecordingSnapshot,
    /** A message for the client. */
    readonly reason: string,
    readonly rerun: Rerun | null = null,
  ) {}
}

/** A part of the text of a recording that is being transcribed. */
export interface PartOfText {
  /** From 0, in the order of the text. */
  index: number;
  /** Seconds from the start of the recording. */
  start: number;
  end: number;
  text: string;
}

/** A long recording is transcribed so far; it is still `processing` (D77). */
export class RecordingPartlyTranscribed {
  constructor(
    readonly recording: RecordingSnapshot,
    readonly part: PartOfText,
  ) {}
}

/** A person has replaced the text of a transcription, or removed such a correction. */
export class TranscriptionCorrected {
  constructor(
    readonly recording: RecordingSnapshot,
    /** Which text is served from now on. */
    readonly version: 'corrected' | 'original',
    /** That text. */
    readonly text: string,
    readonly correctedAt: Date,
  ) {}
}

/** Recordings were deleted at the end of their retention: what is stored about them must name nobody any more (D78). */
export class RecordingsExpired {
  constructor(readonly recordings: readonly RecordingSnapshot[]) {}
}

export class RecordingDeleted {
  constructor(readonly recording: RecordingSnapshot) {}
}
