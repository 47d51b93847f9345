import { eventTime } from '../../../platform/http/timestamps.js';
import type { PartOfText, RecordingSnapshot } from '../../recordings/recordings.events.js';

/** Members of a JSON object in the order they are written; each value is JSON text already. */
type Members = Record<string, string>;

/** The body of a `recording.accepted` event (D40). */
export function acceptedPayload(recording: RecordingSnapshot, occurredAt: Date): string {
  return eventText('recording.accepted', occurredAt, { recording: recordingText(recording, 'processing') });
}

/** The body of a `recording.partial` event, the only one with a text (D77). */
export function partialPayload(recording: RecordingSnapshot, part: PartOfText, occurredAt: Date): string {
  const { index, start, end } = part;
  return eventText('recording.partial', occurredAt, {
    recording: recordingText(recording, 'processing'),
    partial: object({ index: `${index}`, start: seconds(start), end: seconds(end), text: text(part.text) }),
  });
}

/** The body of a `recording.transcribed` event (D29). */
export function transcribedPayload(recording: RecordingSnapshot): string {
  const completedAt = endOf(recording);
  return eventText('recording.transcribed', completedAt, {
    recording: recordingText(recording, 'transcribed', completedAt),
  });
}

/** The body of a `recording.failed` event (D29). @param reason why there is no transcription, for the customer */
export function failedPayload(recording: RecordingSnapshot, reason: string): string {
  return eventText('recording.failed', endOf(recording), {
    recording: recordingText(recording, 'failed'),
    error: object({ code: text('TRANSCRIPTION_FAILED'), message: text(reason) }),
  });
}

/** The body of a `transcription.corrected` event (D44). @param version of the text that is served now */
export function correctedPayload(
  recording: RecordingSnapshot,
  version: 'corrected' | 'original',
  correctedAt: Date,
): string {
  return eventText('transcription.corrected', correctedAt, {
    recording: recordingText(recording, 'transcribed', endOf(recording)),
    transcription: object({ version: text(version) }),
  });
}

/** The body of a `recording.deleted` event (D40). */
export function deletedPayload(recording: RecordingSnapshot, occurredAt: Date): string {
  return eventText('recording.deleted', occurredAt, { recording: recordingText(recording, 'deleted') });
}

/** The body of a `webhook.test` event, which is about no recording (D39). */
export function testPayload(webhookId: string, occurredAt: Date): string {
  return eventText('webhook.test', occurredAt, { webhook: object({ id: text(webhookId) }) });
}

const endOf = ({ processedAt }: RecordingSnapshot): Date => processedAt ?? new Date();

/** Keys in the order of the interface. */
function eventText(kind: string, occurredAt: Date, members: Members): string {
  return object({ event: text(kind), timestamp: text(eventTime(occurredAt)), ...members });
}

/** Keys in the order of the interface (D29). Length and format are left out where there is no audio to use. */
function recordingText(
  recording: RecordingSnapshot,
  status: 'processing' | 'transcribed' | 'failed' | 'deleted',
  completedAt?: Date,
): string {
  const { id, durationMs, audioFormat, userId, createdAt, customTags } = recording;
  const hasAudio = status === 'processing' || status === 'transcribed';
  return object({
    id: text(id),
    status: text(status),
    ...(hasAudio && { duration: String(durationMs / 1000), format: text(audioFormat) }),
    identity: text(userId),
    created_at: text(eventTime(createdAt)),
    ...(completedAt && { completed_at: text(eventTime(completedAt)) }),
    // The stored JSON text, because parsing it would reorder numeric keys and lose `__proto__`.
    ...(customTags !== null && { custom_tags: customTags }),
  });
}

const seconds = (value: number): string => `${Math.round(value * 1000) / 1000}`;

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
  partial?: { text?: unknown } | null;
}

/** The end user that the recording in a body names. Null for one of an extension that has another form. */
export function endUserOf(body: string): string | null {
  // Most recordings have no end user, and need not be parsed.
  if (!body.includes('"identity":"')) return null;
  const identity = parsed(body)?.recording?.identity;
  return typeof identity === 'string' ? identity : null;
}

/** The body without the end user, the tags and the text of its recording (D46). The order of the other keys stays. */
export function withoutPersonalData(body: string): string {
  const event = parsed(body);
  if (!event?.recording) return body;
  event.recording.identity = null;
  delete event.recording.custom_tags;
  if (event.partial) event.partial.text = '';
  return JSON.stringify(event);
}

/** The body without the text of a part of its recording (D77). */
export function withoutText(body: string): string {
  const event = parsed(body);
  if (!event?.partial) return body;
  event.partial.text = '';
  return JSON.stringify(event);
}

function parsed(body: string): Body | null {
  try {
    return JSON.parse(body) as Body | null;
  } catch {
    return null;
  }
}
