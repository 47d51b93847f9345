import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { RecordingStatus } from '../recording.entity.js';

/** A change of the counters that is not added to them yet; the figures may be negative. */
@Entity('usage_counter_deltas')
export class UsageCounterDelta {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id: string;

  @Column('uuid')
  accountId: string;

  /** `YYYY-MM-DD` */
  @Column('date')
  day: string;

  @Column('text')
  status: RecordingStatus;

  /** Recordings that lists show. */
  @Column('bigint')
  listed: number;

  /** Recordings ever accepted. */
  @Column('bigint')
  accepted: number;

  @Column('bigint')
  durationMs: number;

  /** Bytes in the object store. */
  @Column('bigint')
  bytes: number;

  /** Audio that waits in the queue of the account: uploads, retries and reruns that it asked for. */
  @Column('bigint')
  queuedMs: number;

  /** Recordings ever accepted that were transcribed in the end, including those deleted since. */
  @Column('bigint')
  transcribed: number;

  /** Recordings ever accepted that failed in the end, including those deleted since. */
  @Column('bigint')
  failed: number;

  /** The API key of the upload. */
  @Column('uuid', { nullable: true })
  keyId: string | null;

  /** The end user of the recording. */
  @Column('text', { nullable: true })
  userId: string | null;
}
