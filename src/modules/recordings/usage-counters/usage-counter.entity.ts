import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { RecordingStatus } from '../recording.entity.js';

/** Figures of an account's recordings that were created on one UTC day and have one status. */
@Entity('usage_counters')
export class UsageCounter {
  @PrimaryColumn('uuid')
  accountId: string;

  /** `YYYY-MM-DD` */
  @PrimaryColumn('date')
  day: string;

  @PrimaryColumn('text')
  status: RecordingStatus;

  /** Recordings that lists show. */
  @Column('bigint')
  listed: string;

  /** Recordings ever accepted. */
  @Column('bigint')
  accepted: string;

  @Column('bigint')
  durationMs: string;

  /** Bytes in the object store. */
  @Column('bigint')
  bytes: string;

  /** Audio of recordings that are `processing`. */
  @Column('bigint')
  queuedMs: string;

  /** Recordings ever accepted that were transcribed in the end, including those deleted since. */
  @Column('bigint')
  transcribed: string;

  /** Recordings ever accepted that failed in the end, including those deleted since. */
  @Column('bigint')
  failed: string;
}
