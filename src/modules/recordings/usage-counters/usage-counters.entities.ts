import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import type { RecordingStatus } from '../recording.entity.js';

/** Figures that every table of counters has. */
abstract class UsageFigures {
  /** Recordings ever accepted. */
  @Column('bigint')
  accepted: number;

  /** How many of them were transcribed in the end, including those deleted since. */
  @Column('bigint')
  transcribed: number;

  /** How many of them failed in the end, including those deleted since. */
  @Column('bigint')
  failed: number;

  @Column('bigint')
  durationMs: number;

  /** Bytes in the object store. */
  @Column('bigint')
  bytes: number;
}

/** Those that depend on the status as well. */
abstract class StatusFigures extends UsageFigures {
  /** Recordings that lists show. */
  @Column('bigint')
  listed: number;

  /** Audio that waits in the queue of the account: uploads, retries and reruns that it asked for. */
  @Column('bigint')
  queuedMs: number;
}

/** Figures of an account's recordings that were created on one UTC day and have one status. */
@Entity('usage_counters')
export class UsageCounter extends StatusFigures {
  @PrimaryColumn('uuid')
  accountId: string;

  /** `YYYY-MM-DD` */
  @PrimaryColumn('date')
  day: string;

  @PrimaryColumn('text')
  status: RecordingStatus;
}

/** A change of the counters that is not added to them yet; the figures may be negative. */
@Entity('usage_counter_deltas')
export class UsageCounterDelta extends StatusFigures {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id: string;

  @Column('uuid')
  accountId: string;

  /** `YYYY-MM-DD` */
  @Column('date')
  day: string;

  @Column('text')
  status: RecordingStatus;

  /** The API key of the upload. */
  @Column('uuid', { nullable: true })
  keyId: string | null;

  /** The end user of the recording. */
  @Column('text', { nullable: true })
  userId: string | null;
}

export type UsageDimension = 'key' | 'user';

/** Figures of an account's recordings that were created on one UTC day by one API key, or for one end user. */
@Entity('usage_breakdowns')
export class UsageBreakdown extends UsageFigures {
  @PrimaryColumn('uuid')
  accountId: string;

  @PrimaryColumn('text')
  dimension: UsageDimension;

  /** Id of the key, or the identity of the end user; empty where there is none. */
  @PrimaryColumn('text')
  value: string;

  /** `YYYY-MM-DD` */
  @PrimaryColumn('date')
  day: string;
}
