import { Column, Entity, PrimaryColumn } from 'typeorm';

export type DeliveryStatus = 'pending' | 'delivered' | 'failed';

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

  /** Null unless `pending`. */
  @Column('timestamptz', { nullable: true })
  nextAttemptAt: Date | null;

  /** Of the process that is sending; invalid after `leaseUntil`. */
  @Column('uuid', { nullable: true })
  leaseToken: string | null;

  @Column('timestamptz', { nullable: true })
  leaseUntil: Date | null;

  @Column('timestamptz', { nullable: true })
  lastAttemptAt: Date | null;

  /** HTTP status of the last attempt; null when no response came. */
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
