import { ApiProperty } from '@nestjs/swagger';
import { IsDay, IsFilter, IsOmittable, IsOneOf } from '../../../platform/http/input/rules.js';
import { PageFields, pageFields, PageQuery, type PageResult } from '../../../platform/http/page.js';
import { resourceTime } from '../../../platform/http/timestamps.js';
import { DELIVERY_ERROR_KINDS, type DeliveryErrorKind } from '../sending/delivery-outcome.js';
import {
  type Attempt,
  DELIVERY_STATUSES,
  type DeliveryStatus,
  type DeliveryWithAttempts,
  type DeliveryWithEvent,
  REDELIVERY_STATUSES,
  type RedeliveryStatus,
} from './delivery.entity.js';
import type { TestOutcome } from './test-calls.service.js';

export class ListDeliveriesQuery extends PageQuery {
  /** Lists only deliveries with this status. */
  @IsOmittable()
  @IsFilter(DELIVERY_STATUSES)
  status?: DeliveryStatus;

  /**
   * First day of the events (UTC), inclusive.
   * @example 2026-11-01
   */
  @IsOmittable()
  @IsDay()
  date_from?: string;

  /**
   * Last day of the events (UTC), inclusive.
   * @example 2026-11-30
   */
  @IsOmittable()
  @IsDay()
  date_to?: string;
}

export class RedeliverDto {
  /**
   * Only deliveries with this status. `missed` are the events of the webhook's types that have no delivery to it,
   * because it was disabled. Without it: `failed` and `missed`.
   */
  @IsOmittable()
  @IsOneOf(REDELIVERY_STATUSES)
  status?: RedeliveryStatus;

  /**
   * First day of the events (UTC), inclusive.
   * @example 2026-11-01
   */
  @IsOmittable()
  @IsDay()
  date_from?: string;

  /**
   * Last day of the events (UTC), inclusive.
   * @example 2026-11-30
   */
  @IsOmittable()
  @IsDay()
  date_to?: string;
}

const WEBHOOK_ID = '019aa5c2-3b4c-7d5e-9f60-718293a4b5c6';
const DELIVERY_ID = '019aa5c3-7d10-7c44-8e0a-0b1c2d3e4f50';

export class AttemptView {
  /** Number of the attempt, as in `X-Service-Delivery-Attempt`. */
  @ApiProperty({ type: 'integer', example: 1 })
  number: number;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  started_at: string;

  /** HTTP status of the response; null without one. 200 to 299 is a success. */
  @ApiProperty({ type: 'integer', nullable: true, example: 503 })
  status: number | null;

  /** Why there was no response; null if there was one. */
  @ApiProperty({ type: String, nullable: true, enum: [...DELIVERY_ERROR_KINDS, null], example: null })
  error: DeliveryErrorKind | null;

  /** The error in words. */
  @ApiProperty({ type: String, nullable: true, example: null })
  reason: string | null;

  /** Milliseconds from the start to the response headers, or to the error. */
  @ApiProperty({ type: 'integer', example: 84 })
  duration_ms: number;

  /** The first 1 KiB of the response body as text; null without a response. */
  @ApiProperty({ type: String, nullable: true, example: 'try again later' })
  response: string | null;
}

export class DeliveryView {
  @ApiProperty({ example: DELIVERY_ID, format: 'uuid' })
  id: string;

  /** As in `X-Service-Event-Id`. */
  @ApiProperty({ example: '019aa5c3-7d0f-7b21-9c11-5f6e7d8c9b0a', format: 'uuid' })
  event_id: string;

  /** Type of the event. */
  @ApiProperty({ example: 'recording.transcribed' })
  event: string;

  /** Recording that the event is about; null for events about none. */
  @ApiProperty({ type: String, format: 'uuid', nullable: true, example: '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60' })
  recording_id: string | null;

  @ApiProperty({ enum: DELIVERY_STATUSES })
  status: DeliveryStatus;

  /** Attempts so far, those before a redelivery included. */
  @ApiProperty({ type: 'integer', example: 1 })
  attempts_count: number;

  /** HTTP status of the last attempt; null if it got no response. */
  @ApiProperty({ type: 'integer', nullable: true, example: 503 })
  last_status: number | null;

  /** Why the last attempt got no response. */
  @ApiProperty({ type: String, nullable: true, enum: [...DELIVERY_ERROR_KINDS, null], example: null })
  last_error: DeliveryErrorKind | null;

  /** The error in words, or `webhook disabled`. */
  @ApiProperty({ type: String, nullable: true, example: null })
  reason: string | null;

  /** Duration of the last attempt in milliseconds. */
  @ApiProperty({ type: 'integer', nullable: true, example: 84 })
  last_duration_ms: number | null;

  @ApiProperty({ type: String, nullable: true, example: '2026-11-21T10:15:00' })
  last_attempt_at: string | null;

  /** Time of the next attempt; null unless the status is `pending`. */
  @ApiProperty({ type: String, nullable: true, example: '2026-11-21T10:15:05' })
  next_attempt_at: string | null;

  /** Time of the event. */
  @ApiProperty({ example: '2026-11-21T10:14:59' })
  created_at: string;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  updated_at: string;

  @ApiProperty({ example: `/v1/webhooks/${WEBHOOK_ID}/deliveries/${DELIVERY_ID}` })
  uri: string;
}

export class SingleDeliveryView extends DeliveryView {
  /** The last 30 attempts that have ended, the oldest first. */
  attempts: AttemptView[];

  /** The exact body that is sent and signed. */
  @ApiProperty({ example: '{"event":"recording.transcribed","timestamp":"2026-11-21T10:14:59Z","recording":{}}' })
  body: string;
}

export class DeliveryPage extends PageFields {
  deliveries: DeliveryView[];
}

export class RedeliveryView {
  /** Deliveries and events that are sent again. */
  @ApiProperty({ type: 'integer', example: 10_000 })
  count: number;

  /** Path of the delivery log. */
  @ApiProperty({ example: `/v1/webhooks/${WEBHOOK_ID}/deliveries` })
  uri: string;
}

export const deliveriesUri = (webhookId: string): string => `/v1/webhooks/${webhookId}/deliveries`;

const timeOrNull = (time: Date | null): string | null => (time === null ? null : resourceTime(time));

export function presentDelivery(delivery: DeliveryWithEvent): DeliveryView {
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    event: delivery.kind,
    recording_id: delivery.recordingId,
    status: delivery.status,
    attempts_count: delivery.attempts,
    last_status: delivery.lastStatus,
    last_error: delivery.lastErrorKind,
    reason: delivery.lastError,
    last_duration_ms: delivery.lastDurationMs,
    last_attempt_at: timeOrNull(delivery.lastAttemptAt),
    next_attempt_at: timeOrNull(delivery.nextAttemptAt),
    created_at: resourceTime(delivery.createdAt),
    updated_at: resourceTime(delivery.updatedAt),
    uri: `${deliveriesUri(delivery.webhookId)}/${delivery.id}`,
  };
}

export function presentSingleDelivery({ delivery, attempts, body }: DeliveryWithAttempts): SingleDeliveryView {
  return { ...presentDelivery(delivery), attempts: attempts.map(presentAttempt), body };
}

function presentAttempt({ number, startedAt, status, error, reason, durationMs, response }: Attempt): AttemptView {
  return {
    number,
    started_at: resourceTime(startedAt),
    status,
    error,
    reason,
    duration_ms: durationMs,
    response,
  };
}

export function presentDeliveryPage(
  webhookId: string,
  query: ListDeliveriesQuery,
  found: PageResult<DeliveryWithEvent>,
): DeliveryPage {
  return {
    deliveries: found.items.map(presentDelivery),
    ...pageFields(deliveriesUri(webhookId), query, found),
  };
}

export class TestCallView {
  /** As in `X-Service-Event-Id`. The event is in no list. */
  @ApiProperty({ example: '019aa5c3-7d0f-7b21-9c11-5f6e7d8c9b0a', format: 'uuid' })
  event_id: string;

  /** What came back, as in the delivery log. */
  attempt: AttemptView;

  /** The webhook. */
  @ApiProperty({ example: '/v1/webhooks/019aa5c2-3b4c-7d5e-9f60-718293a4b5c6' })
  uri: string;
}

export function presentTestCall(webhookId: string, { eventId, attempt }: TestOutcome): TestCallView {
  return { event_id: eventId, attempt: presentAttempt(attempt), uri: `/v1/webhooks/${webhookId}` };
}
