import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsIntegerParameter, IsOmittable, IsValid } from '../../../platform/http/input/rules.js';
import { resourceTime } from '../../../platform/http/timestamps.js';
import type { FeedEvent } from './event-feed.service.js';

/** Of the catalogue, which extensions add to (event-catalogue.openapi.ts). */
const ANY_BODY = { allOf: [{ $ref: '#/components/schemas/EventBody' }] };

const AFTER_RULE = 'must be the sequence of an event, or latest';

export const isSequence = (value: unknown): boolean => typeof value === 'string' && /^[0-9]{1,15}$/.test(value);

function IsAfter(): PropertyDecorator {
  return applyDecorators(
    IsValid('isAfter', (value) => {
      if (Array.isArray(value)) return 'may be given only once';
      return isSequence(value) || value === 'latest' ? null : AFTER_RULE;
    }),
    ApiProperty({ type: 'string', pattern: '^([0-9]{1,15}|latest)$', example: '0' }),
  );
}

/** For the header that says the same. */
export const LAST_EVENT_ID_RULE = 'must be the id of an event of this stream';

export class StreamEventsQuery {
  /** Only events after this sequence; `latest` for those that are yet to come. From the oldest when omitted. */
  @IsOmittable()
  @IsAfter()
  after: string = '0';
}

const MAX_LIMIT = 100;

export class ListEventsQuery extends StreamEventsQuery {
  /** Number of events on a page. */
  @IsOmittable()
  @IsIntegerParameter(1, MAX_LIMIT)
  limit: number = 50;
}

/** Documents the answer, which is written as text: see `presentEventPage`. */
class EventView {
  /** The `X-Service-Event-Id` of the event at webhooks. */
  @ApiProperty({ example: '019aa5c1-3a77-7d0c-9c1e-52d1f0c6a9e4', format: 'uuid' })
  id: string;

  /** Number of the event in the account, from 1 without a gap. */
  @ApiProperty({ type: 'integer', example: 18 })
  sequence: number;

  /** Type of the event. */
  @ApiProperty({ example: 'recording.transcribed' })
  event: string;

  @ApiProperty({ example: '2026-11-21T10:15:04' })
  created_at: string;

  /** As webhooks receive it; `event` tells which. */
  @ApiProperty(ANY_BODY)
  body: object;
}

/** Documents a message of the stream: see `presentStreamedEvent`. */
export class StreamedEvent {
  /** Sequence of the event. */
  @ApiProperty({ pattern: '^[0-9]{1,15}$', example: '18' })
  id: string;

  /** Type of the event. */
  @ApiProperty({ example: 'recording.transcribed' })
  event: string;

  /** The body as JSON text. */
  @ApiProperty(ANY_BODY)
  data: object;
}

export class EventPage {
  events: EventView[];

  /** Path of this page. */
  @ApiProperty({ example: '/v1/events?after=17&limit=50' })
  uri: string;

  /** Path of the next page; null when these are the latest events. */
  @ApiProperty({ type: String, nullable: true, example: null })
  next_uri: string | null;
}

const uriOf = (after: number | string, limit: number): string => `/v1/events?after=${after}&limit=${limit}`;

/**
 * JSON text, because the body of an event goes out as it was stored: parsing it would reorder numeric keys and lose
 * `__proto__` (D28).
 */
export function presentEventPage(
  { after, limit }: { after: string; limit: number },
  { events, hasMore }: { events: readonly FeedEvent[]; hasMore: boolean },
): string {
  const last = events.at(-1);
  const rest = { uri: uriOf(after, limit), next_uri: hasMore && last ? uriOf(last.sequence, limit) : null };
  return `{"events":[${events.map(eventText).join(',')}],${JSON.stringify(rest).slice(1)}`;
}

function eventText({ id, sequence, kind, createdAt, body }: FeedEvent): string {
  const head = JSON.stringify({ id, sequence, event: kind, created_at: resourceTime(createdAt) });
  return `${head.slice(0, -1)},"body":${jsonOf(body)}}`;
}

/** A message of a stream. A line of the stream ends at a line break, and a body of an extension may have some. */
export function presentStreamedEvent({ sequence, kind, body }: FeedEvent): string {
  return `id: ${sequence}\nevent: ${kind}\ndata: ${jsonOf(body).replace(/\r\n?|\n/g, '\ndata: ')}\n\n`;
}

/** An extension may have stored what is no JSON. */
function jsonOf(body: string): string {
  try {
    JSON.parse(body);
    return body;
  } catch {
    return JSON.stringify(body);
  }
}
