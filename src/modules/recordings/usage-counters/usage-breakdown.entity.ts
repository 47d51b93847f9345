import { Column, Entity, PrimaryColumn } from 'typeorm';

export type UsageDimension = 'key' | 'user';

/** Figures of an account's recordings that were created on one UTC day by one API key, or for one end user. */
@Entity('usage_breakdowns')
export class UsageBreakdown {
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

  /** Recordings ever accepted. */
  @Column('bigint')
  accepted: string;

  /** How many of them were transcribed in the end. */
  @Column('bigint')
  transcribed: string;

  /** How many of them failed in the end. */
  @Column('bigint')
  failed: string;

  @Column('bigint')
  durationMs: string;

  /** Bytes in the object store. */
  @Column('bigint')
  bytes: string;
}
