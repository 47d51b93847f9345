import { Column, Entity, PrimaryColumn } from 'typeorm';

export const EVENT_KINDS = ['recording.transcribed', 'recording.failed'] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** Something that happened, with the exact bytes that tell of it. Kept when its recording is deleted. */
@Entity('events')
export class WebhookEvent {
  /** The same at every webhook and on every attempt. */
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  accountId: string;

  /** Counts the account's events without a gap, in the order of their commits. */
  @Column('bigint')
  sequence: string;

  @Column('text')
  kind: EventKind;

  @Column('uuid')
  recordingId: string;

  /** With `recordingId` the identity of the event: one for each run. */
  @Column('integer')
  run: number;

  @Column('text')
  body: string;

  @Column('timestamptz')
  createdAt: Date;
}
