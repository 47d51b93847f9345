import { Column, Entity, PrimaryColumn } from 'typeorm';

export type DeliveryStatus = 'pending' | 'delivered' | 'failed';

/** One event on its way to one webhook. */
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

  /** Attempts begun. */
  @Column('integer', { default: 0 })
  attempts: number;

  /** Set exactly while `pending`. */
  @Column('timestamptz', { nullable: true })
  nextAttemptAt: Date | null;

  /** Held by the process that is sending; worthless after `leaseUntil`. */
  @Column('uuid', { nullable: true })
  leaseToken: string | null;

  @Column('timestamptz', { nullable: true })
  leaseUntil: Date | null;

  @Column('timestamptz', { nullable: true })
  lastAttemptAt: Date | null;

  /** HTTP status of the last attempt's answer; null when none came. */
  @Column('integer', { nullable: true })
  lastStatus: number | null;

  @Column('text', { nullable: true })
  lastError: string | null;

  @Column('integer', { nullable: true })
  lastDurationMs: number | null;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;
}
