import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DeliveryErrorKind } from '../sending/delivery-outcome.js';

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** One event to be sent to one webhook. */
@Entity('deliveries')
export class Delivery {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  accountId: string;

  @Column('uuid')
  eventId: string;

  @Column('uuid')
  webhookId: string;

  @Column('text')
  status: DeliveryStatus;

  /** Attempts started. */
  @Column('integer', { default: 0 })
  attempts: number;

  /** Attempts before the last redelivery, which began the retry schedule anew. */
  @Column('integer', { default: 0 })
  attemptsBefore: number;

  /** Null unless `pending`. */
  @Column('timestamptz', { nullable: true })
  nextAttemptAt: Date | null;

  /** Held by the process that is sending; invalid after `leaseUntil`. */
  @Column('uuid', { nullable: true })
  leaseToken: string | null;

  @Column('timestamptz', { nullable: true })
  leaseUntil: Date | null;

  @Column('timestamptz', { nullable: true })
  lastAttemptAt: Date | null;

  /** HTTP status of the last attempt; null when no response came. */
  @Column('integer', { nullable: true })
  lastStatus: number | null;

  /** Why no response came; one of `DELIVERY_ERROR_KINDS`. */
  @Column('text', { nullable: true })
  lastErrorKind: DeliveryErrorKind | null;

  /** The same in words, or why nothing was sent. */
  @Column('text', { nullable: true })
  lastError: string | null;

  @Column('integer', { nullable: true })
  lastDurationMs: number | null;

  /** The start of the response to the attempt that delivered it. Those of other attempts are `LoggedAttempt`s. */
  @Column('text', { nullable: true })
  lastResponse: string | null;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;
}

/** An attempt to deliver an event, except the one that delivered it: that is in the `Delivery`. */
@Entity('delivery_attempts')
export class LoggedAttempt {
  @PrimaryColumn('uuid')
  deliveryId: string;

  /** From 1; goes on after a redelivery. */
  @PrimaryColumn('integer')
  number: number;

  @Column('timestamptz')
  startedAt: Date;

  /** HTTP status; null when no response came. */
  @Column('integer', { nullable: true })
  status: number | null;

  @Column('text', { nullable: true })
  error: DeliveryErrorKind | null;

  /** The error in words. */
  @Column('text', { nullable: true })
  reason: string | null;

  @Column('integer')
  durationMs: number;

  /** The first 1 KiB of the response. */
  @Column('text', { nullable: true })
  response: string | null;
}

/** A delivery with what it is about. */
export interface DeliveryWithEvent extends Delivery {
  kind: string;
  recordingId: string | null;
}

export interface DeliveryWithAttempts {
  delivery: DeliveryWithEvent;
  /** The bytes that are sent. */
  body: string;
  /** By number. */
  attempts: Attempt[];
}

export type Attempt = Omit<LoggedAttempt, 'deliveryId'>;

/** `missed`: events without a delivery to the webhook. */
export const REDELIVERY_STATUSES = ['delivered', 'failed', 'missed'] as const;
export type RedeliveryStatus = (typeof REDELIVERY_STATUSES)[number];

/** First deliveries that have ended are made pending again, then deliveries for missed events are inserted. */
export type RedeliveryPhase = 'deliveries' | 'events';

/** A redelivery of many that is in progress; a webhook has at most one. */
@Entity('webhook_redeliveries')
export class WebhookRedelivery {
  @PrimaryColumn('uuid')
  webhookId: string;

  @Column('uuid')
  accountId: string;

  /** Null: `failed` and `missed`. */
  @Column('text', { nullable: true })
  status: RedeliveryStatus | null;

  /** Inclusive. */
  @Column('timestamptz')
  createdFrom: Date;

  /** Exclusive. */
  @Column('timestamptz')
  createdUntil: Date;

  /** Deliveries that have ended later are not sent again. */
  @Column('timestamptz')
  startedAt: Date;

  @Column('text')
  phase: RedeliveryPhase;

  /** Creation time and id of the last row of the last batch. */
  @Column('timestamptz')
  afterAt: Date;

  @Column('uuid')
  afterId: string;
}
