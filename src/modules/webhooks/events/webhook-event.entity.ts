import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An event with the exact bytes that are sent. It is kept when its recording is deleted. */
@Entity('events')
export class WebhookEvent {
  /** The same for every webhook and every attempt. */
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  accountId: string;

  /** Numbers the account's events without a gap. Null until it is given, after the commit (docs/decisions/0013). */
  @Column('bigint', { nullable: true })
  sequence: string | null;

  /** Grows with each event of any account. Null for those that had a number before there were positions. */
  @Column('bigint', { nullable: true })
  position: string | null;

  @Column('text')
  kind: string;

  /** Null for kinds that are not about a recording. */
  @Column('uuid', { nullable: true })
  recordingId: string | null;

  @Column('integer', { nullable: true })
  run: number | null;

  /** The end user that the body names, until it is erased (D46). */
  @Column('text', { nullable: true })
  userId: string | null;

  @Column('text')
  body: string;

  @Column('timestamptz')
  createdAt: Date;
}

/** The number of an account's last event that has one. */
@Entity('event_sequences')
export class EventSequence {
  @PrimaryColumn('uuid')
  accountId: string;

  @Column('bigint')
  last: string;
}
