import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DeliveryErrorKind } from '../sending/outcome/delivery-error.js';

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
