import { eventTime } from '../../../platform/http/timestamps.js';

/** Every kind of event that webhooks can subscribe to. Extensions add theirs before the application is created. */
export const EVENT_KINDS: string[] = ['recording.transcribed', 'recording.failed', 'transcription.corrected'];

/** Kinds that are in the feed only: no webhook can subscribe to them (D40). */
const FEED_KINDS = ['recording.accepted', 'recording.deleted'] as const;
export type FeedKind = (typeof FEED_KINDS)[number];

/** Registering a kind again changes nothing. @param kind lower-case words with a dot, such as `keyword.matched` */
export function registerEventKind(kind: string): void {
  if ((FEED_KINDS as readonly string[]).includes(kind)) throw new Error(`${kind} is a kind of the event feed`);
  if (!EVENT_KINDS.includes(kind)) EVENT_KINDS.push(kind);
}

/** Data that all kinds of event contain. */
export interface EventFacts {
  occurredAt: Date;
  recordingId: string;
  /** The end user of the recording, or null. */
  identity: string | null;
  createdAt: Date;
  /** The tags as compact JSON text in the order they were sent; null when the recording has none. */
  customTags: string | null;
}

export interface AcceptedFacts extends EventFacts {
  durationSeconds: number;
  format: string;
}

export interface TranscribedFacts extends AcceptedFacts {
  completedAt: Date;
}

export interface FailedFacts extends EventFacts {
  /** Why there is no transcription, for the customer. */
  reason: string;
}

export interface CorrectedFacts extends TranscribedFacts {
  /** The text that is served now. */
  version: 'corrected' | 'original';
}

/** Members of a JSON object in the order they are written; each value is JSON text already. */
type Members = Record<string, string>;

/** The body of a `recording.transcribed` event, keys in the order of the interface (D29). */
export function transcribedPayload(facts: TranscribedFacts): string {
  return object({
    event: text('recording.transcribed'),
    timestamp: text(eventTime(facts.occurredAt)),
    recording: transcribedRecording(facts),
  });
}

/** The body of a `transcription.corrected` event, keys in the order of the interface (D44). */
export function correctedPayload(facts: CorrectedFacts): string {
  return object({
    event: text('transcription.corrected'),
    timestamp: text(eventTime(facts.occurredAt)),
    recording: transcribedRecording(facts),
    transcription: object({ version: text(facts.version) }),
  });
}

/** The body of a `recording.failed` event, keys in the order of the interface (D29). */
export function failedPayload(facts: FailedFacts): string {
  const recording: Members = {
    id: text(facts.recordingId),
    status: text('failed'),
    identity: text(facts.identity),
    created_at: text(eventTime(facts.createdAt)),
  };
  return object({
    event: text('recording.failed'),
    timestamp: text(eventTime(facts.occurredAt)),
    recording: object(withTags(recording, facts)),
    error: object({ code: text('TRANSCRIPTION_FAILED'), message: text(facts.reason) }),
  });
}

/** The body of a `recording.accepted` event (D40). */
export function acceptedPayload(facts: AcceptedFacts): string {
  const recording: Members = {
    id: text(facts.recordingId),
    status: text('processing'),
    duration: String(facts.durationSeconds),
    format: text(facts.format),
    identity: text(facts.identity),
    created_at: text(eventTime(facts.createdAt)),
  };
  return object({
    event: text('recording.accepted'),
    timestamp: text(eventTime(facts.occurredAt)),
    recording: object(withTags(recording, facts)),
  });
}

/** The body of a `recording.deleted` event (D40). */
export function deletedPayload(facts: EventFacts): string {
  const recording: Members = {
    id: text(facts.recordingId),
    status: text('deleted'),
    identity: text(facts.identity),
    created_at: text(eventTime(facts.createdAt)),
  };
  return object({
    event: text('recording.deleted'),
    timestamp: text(eventTime(facts.occurredAt)),
    recording: object(withTags(recording, facts)),
  });
}

/** The body of a `webhook.test` event, which is about no recording (D39). */
export function testPayload({ occurredAt, webhookId }: { occurredAt: Date; webhookId: string }): string {
  return object({
    event: text('webhook.test'),
    timestamp: text(eventTime(occurredAt)),
    webhook: object({ id: text(webhookId) }),
  });
}

function transcribedRecording(facts: TranscribedFacts): string {
  const recording: Members = {
    id: text(facts.recordingId),
    status: text('transcribed'),
    duration: String(facts.durationSeconds),
    format: text(facts.format),
    identity: text(facts.identity),
    created_at: text(eventTime(facts.createdAt)),
    completed_at: text(eventTime(facts.completedAt)),
  };
  return object(withTags(recording, facts));
}

/** Inserts the stored JSON text, because parsing it would reorder numeric keys and lose `__proto__`. */
function withTags(recording: Members, { customTags }: EventFacts): Members {
  return customTags === null ? recording : { ...recording, custom_tags: customTags };
}

function text(value: string | null): string {
  return JSON.stringify(value);
}

function object(members: Members): string {
  return `{${Object.entries(members)
    .map(([key, value]) => `${text(key)}:${value}`)
    .join(',')}}`;
}

/** As much of a body as all kinds of the core share. */
interface Body {
  recording?: { identity?: unknown; custom_tags?: unknown } | null;
}

/** The end user that the recording in a body names. Null for one of an extension that has another form. */
export function endUserOf(body: string): string | null {
  // Most recordings have no end user, and need not be parsed.
  if (!body.includes('"identity":"')) return null;
  const identity = parsed(body)?.recording?.identity;
  return typeof identity === 'string' ? identity : null;
}

/** The body without the end user and the tags of its recording (D46). The order of the other keys stays. */
export function withoutPersonalData(body: string): string {
  const event = parsed(body);
  if (!event?.recording) return body;
  event.recording.identity = null;
  delete event.recording.custom_tags;
  return JSON.stringify(event);
}

function parsed(body: string): Body | null {
  try {
    return JSON.parse(body) as Body | null;
  } catch {
    return null;
  }
}
