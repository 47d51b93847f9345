import type { Type } from '@nestjs/common';
import type { RecordingSnapshot } from '../../recordings/recordings.events.js';
import {
  RecordingAcceptedBody,
  RecordingDeletedBody,
  RecordingFailedBody,
  RecordingPartialBody,
  RecordingTranscribedBody,
  TranscriptionCorrectedBody,
  WebhookTestBody,
} from './event-bodies.dto.js';
import {
  acceptedPayload,
  correctedPayload,
  deletedPayload,
  failedPayload,
  partialPayload,
  testPayload,
  transcribedPayload,
} from './event-payload.js';

/** A kind of event and the form of its body, for clients and for the OpenAPI document. */
export interface EventKind {
  /** Lower-case words with a dot, such as `keyword.matched`. */
  kind: string;
  description: string;
  /** A DTO class, or a JSON Schema of an object with the property `event`. */
  schema?: Type | Record<string, unknown>;
  /** A whole body. */
  example?: object;
}

const CREATED_AT = new Date('2026-11-21T10:15:00Z');
const ENDED_AT = new Date('2026-11-21T10:15:04Z');

const EXAMPLE: RecordingSnapshot = {
  id: '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60',
  accountId: '',
  userId: 'user-4711',
  originalFilename: 'note.webm',
  audioFormat: 'webm',
  durationMs: 11_001,
  customTags: '{"ticket":"T-1042"}',
  status: 'transcribed',
  run: 1,
  createdAt: CREATED_AT,
  processedAt: ENDED_AT,
};

const exampleOf = (payload: string): object => JSON.parse(payload) as object;

const EXAMPLE_PART = { index: 0, start: 0.4, end: 31.2, text: 'Good morning. The north gate is open again.' };

/** Webhooks can subscribe to these. Extensions add theirs (`registerEventKind`). */
const SUBSCRIBABLE: readonly EventKind[] = [
  {
    kind: 'recording.transcribed',
    description: 'The transcription is available.',
    schema: RecordingTranscribedBody,
    example: exampleOf(transcribedPayload(EXAMPLE)),
  },
  {
    kind: 'recording.failed',
    description: 'The recording could not be transcribed.',
    schema: RecordingFailedBody,
    example: exampleOf(failedPayload(EXAMPLE, 'The audio cannot be decoded.')),
  },
  {
    kind: 'transcription.corrected',
    description: 'A person has corrected the text, or removed a correction.',
    schema: TranscriptionCorrectedBody,
    example: exampleOf(correctedPayload(EXAMPLE, 'corrected', new Date('2026-11-22T08:00:00Z'))),
  },
  {
    kind: 'recording.partial',
    description: 'A part of the text of a long recording that is still being transcribed.',
    schema: RecordingPartialBody,
    example: exampleOf(partialPayload(EXAMPLE, EXAMPLE_PART, ENDED_AT)),
  },
];

/** In the feed only: no webhook can subscribe to them (D40). */
const FEED_ONLY = [
  {
    kind: 'recording.accepted',
    description: 'A recording was uploaded, or is retried. Only in the event feed.',
    schema: RecordingAcceptedBody,
    example: exampleOf(acceptedPayload(EXAMPLE, CREATED_AT)),
  },
  {
    kind: 'recording.deleted',
    description: 'A recording was deleted. Only in the event feed.',
    schema: RecordingDeletedBody,
    example: exampleOf(deletedPayload(EXAMPLE, ENDED_AT)),
  },
] as const satisfies readonly EventKind[];
export type FeedKind = (typeof FEED_ONLY)[number]['kind'];

/** Sent to the webhook that is tested, and stored nowhere (D39). */
const TEST: EventKind = {
  kind: 'webhook.test',
  description: 'A test call to a webhook, about no recording. Every webhook can receive it.',
  schema: WebhookTestBody,
  example: exampleOf(testPayload('019aa5c2-3b4c-7d5e-9f60-718293a4b5c6', ENDED_AT)),
};

/** The names of all kinds that webhooks can subscribe to. */
export const EVENT_KINDS: string[] = SUBSCRIBABLE.map(({ kind }) => kind);

const byName = new Map(SUBSCRIBABLE.map((kind) => [kind.kind, kind]));

/** Before the application is created. Registering a kind again changes nothing. */
export function registerEventKind(added: string | EventKind): void {
  const kind = typeof added === 'string' ? { kind: added, description: 'An event of an extension.' } : added;
  if (FEED_ONLY.some((known) => known.kind === kind.kind)) throw new Error(`${kind.kind} is a kind of the event feed`);
  if (kind.kind === TEST.kind) throw new Error(`${kind.kind} is a kind of the service`);
  if (EVENT_KINDS.includes(kind.kind)) return;
  EVENT_KINDS.push(kind.kind);
  byName.set(kind.kind, kind);
}

export interface CataloguedKind extends EventKind {
  /** Whether webhooks can subscribe to it. */
  canSubscribe: boolean;
  /** Whether the event feed has it. */
  inFeed: boolean;
}

/** Every kind of event, in the order of the catalogue. */
export function eventCatalogue(): CataloguedKind[] {
  return [
    ...EVENT_KINDS.map((name) => ({ ...(byName.get(name) as EventKind), canSubscribe: true, inFeed: true })),
    ...FEED_ONLY.map((kind) => ({ ...kind, canSubscribe: false, inFeed: true })),
    { ...TEST, canSubscribe: false, inFeed: false },
  ];
}

/** What a body is known to have where an extension gives no example. */
export const exampleBody = ({ kind, example }: EventKind): object => example ?? { event: kind };
