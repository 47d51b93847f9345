import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An event with the exact bytes that are sent. It is kept when its recording is deleted. */
@Entity('events')
export class WebhookEvent {
  /** The same for every webhook and every attempt. */
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  accountId: string;

  /** Numbers the account's events without a gap, in the order of their commits. */
  @Column('bigint')
  sequence: string;

  @Column('text')
  kind: string;

  /** Null for kinds that are not about a recording. */
  @Column('uuid', { nullable: true })
  recordingId: string | null;

  @Column('integer', { nullable: true })
  run: number | null;

  @Column('text')
  body: string;

  @Column('timestamptz')
  createdAt: Date;
}
