import { Column, Entity, PrimaryColumn } from 'typeorm';

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
