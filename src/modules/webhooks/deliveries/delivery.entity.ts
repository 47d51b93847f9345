import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DeliveryErrorKind } from '../sending/outcome/delivery-error.js';

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
