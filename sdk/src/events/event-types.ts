import type { EventView, RecordingView } from '../api/types.gen.js';

interface EventRecording<S extends string> {
  id: string;
  status: S;
  /** The end user who uploaded it. */
  identity: string | null;
  created_at: string;
  /** Only if the recording has tags. */
  custom_tags?: Record<string, string>;
}

interface HeardRecording<S extends string> extends EventRecording<S> {
  /** Seconds. */
  duration: number;
  format: RecordingView['audio_format'];
}

type FinishedRecording = HeardRecording<'transcribed'> & { completed_at: string };

interface Body<K extends string> {
  event: K;
  /** When it happened: `2026-11-21T10:00:09Z`. */
  timestamp: string;
}

/** A recording was uploaded, or is retried. Only in the feed and the stream. */
export interface RecordingAccepted extends Body<'recording.accepted'> {
  recording: HeardRecording<'processing'>;
}

/** The transcription is available. */
export interface RecordingTranscribed extends Body<'recording.transcribed'> {
  recording: FinishedRecording;
}

/** The recording could not be transcribed. */
export interface RecordingFailed extends Body<'recording.failed'> {
  recording: EventRecording<'failed'>;
  error: { code: 'TRANSCRIPTION_FAILED'; message: string };
}

/** A recording was deleted. Only in the feed and the stream. */
export interface RecordingDeleted extends Body<'recording.deleted'> {
  recording: EventRecording<'deleted'>;
}

/** A person has changed the text, or removed such a correction. */
export interface TranscriptionCorrected extends Body<'transcription.corrected'> {
  recording: FinishedRecording;
  transcription: { version: 'corrected' | 'original' };
}

/** A test call to a webhook, about no recording. */
export interface WebhookTest extends Body<'webhook.test'> {
  webhook: { id: string };
}

/** What a webhook receives; `event` tells which. An extension of the service may send further kinds. */
export type WebhookEventBody = RecordingTranscribed | RecordingFailed | TranscriptionCorrected | WebhookTest;

type FeedBody = RecordingAccepted | RecordingTranscribed | RecordingFailed | RecordingDeleted | TranscriptionCorrected;

/** The kind, number and body of an event: `event` tells the type of `body`. */
type Numbered<B extends FeedBody> = B extends FeedBody
  ? {
      /** The kind. */
      event: B['event'];
      /** Number of the event in the account, from 1 without a gap. */
      sequence: number;
      /** As webhooks receive it. */
      body: B;
    }
  : never;

/** An event of the account; `event` tells which. An extension of the service may add further kinds. */
export type AccountEvent = Numbered<FeedBody>;

/** An event of the feed. Its `id` is the `X-Service-Event-Id` at webhooks. */
export type StoredEvent = AccountEvent & Pick<EventView, 'id' | 'created_at'>;

/** Kinds that webhooks can subscribe to without an extension, for the command line. */
export const WEBHOOK_EVENTS = ['recording.transcribed', 'recording.failed', 'transcription.corrected'] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];
