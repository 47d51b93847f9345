import type {
  EventView,
  RecordingAcceptedBody,
  RecordingDeletedBody,
  RecordingFailedBody,
  RecordingPartialBody,
  RecordingTranscribedBody,
  TranscriptionCorrectedBody,
  WebhookTestBody,
} from '../api/types.gen.js';

/** A recording was uploaded, or is retried. Only in the feed and the stream. */
export type RecordingAccepted = RecordingAcceptedBody;

/** The transcription is available. */
export type RecordingTranscribed = RecordingTranscribedBody;

/** A part of the text of a long recording, which is still `processing`. */
export type RecordingPartial = RecordingPartialBody;

/** The recording could not be transcribed. */
export type RecordingFailed = RecordingFailedBody;

/** A recording was deleted. Only in the feed and the stream. */
export type RecordingDeleted = RecordingDeletedBody;

/** A person has changed the text, or removed such a correction. */
export type TranscriptionCorrected = TranscriptionCorrectedBody;

/** A test call to a webhook, about no recording. */
export type WebhookTest = WebhookTestBody;

/** What a webhook receives; `event` tells which. An extension of the service may send further kinds. */
export type WebhookEventBody =
  | RecordingTranscribed
  | RecordingFailed
  | TranscriptionCorrected
  | RecordingPartial
  | WebhookTest;

type FeedBody =
  | RecordingAccepted
  | RecordingPartial
  | RecordingTranscribed
  | RecordingFailed
  | RecordingDeleted
  | TranscriptionCorrected;

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

/** Kinds that webhooks get where nobody names any: those that hold no text. For the command line. */
export const DEFAULT_WEBHOOK_EVENTS = ['recording.transcribed', 'recording.failed', 'transcription.corrected'] as const;

/** Kinds that webhooks can subscribe to without an extension, for the command line. */
export const WEBHOOK_EVENTS = [...DEFAULT_WEBHOOK_EVENTS, 'recording.partial'] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** Kinds that the command line can make happen with a test key. */
export const TRIGGER_KINDS = [...DEFAULT_WEBHOOK_EVENTS, 'recording.accepted', 'recording.deleted'] as const;
export type TriggerKind = (typeof TRIGGER_KINDS)[number];
