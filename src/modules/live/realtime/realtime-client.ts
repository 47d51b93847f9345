import type { ApiError } from '../../../platform/errors/errors.js';
import type { LiveCut, LiveRecording, NewLiveRecording } from '../live-recordings.service.js';
import type { TranscriptListener } from './transcript-reader.js';

/** What a recording begins with as far as its client says it. */
export type RecordingSettings = Pick<
  NewLiveRecording,
  'audio' | 'language' | 'languages' | 'vocabulary' | 'title' | 'customTags' | 'speakers' | 'diarize' | 'cutsAtPauses'
>;

/** Bytes that are stored, and their length where it follows from them. */
export interface StoredAudio {
  bytes: number;
  seconds: number | null;
}

/** What a protocol does with the session of its connection. */
export interface SessionControls {
  send(message: object): void;
  /** Adds audio behind all before. The first begins the recording. */
  addAudio(audio: Buffer): void;
  /** Ends the utterance behind all audio so far. */
  cut(cut: Omit<LiveCut, 'byteOffset'>): void;
  /** No more audio comes. Ends once the words are there. */
  finish(): void;
  /** A message was refused. After too many the connection is closed. */
  countRefusal(): void;
}

/** One language that clients speak: it reads their messages, and writes what happens to the recording. */
export interface RealtimeProtocol extends TranscriptListener {
  /** For the log and the metrics. */
  readonly name: 'openai' | 'plain';
  /** The connection is open. @param recording null while none has begun. */
  opened(recording: LiveRecording | null, isResumed: boolean): void;
  receive(message: Buffer, isBinary: boolean): void;
  /** For a recording that begins with its first audio. */
  settings(): RecordingSettings;
  began(recording: LiveRecording): void;
  stored(audio: StoredAudio): void;
  /** Nothing more will be recognised. */
  wordsEnded(): void;
  ended(recording: LiveRecording | null, reason: string): void;
  /** What broke the session; the connection is closed after it. */
  failed(error: ApiError): void;
}
