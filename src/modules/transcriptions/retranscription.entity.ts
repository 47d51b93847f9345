import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * How far the recordings of an account are marked to be transcribed again in the background. An account has at most one
 * that has not ended; those of one command have the same `jobId`.
 */
@Entity('retranscriptions')
export class Retranscription {
  @PrimaryColumn('uuid')
  accountId: string;

  @Column('uuid')
  jobId: string;

  /** Only transcriptions of other models. */
  @Column('text')
  modelNot: string;

  /** Creation of the recordings, inclusive. */
  @Column('timestamptz')
  createdFrom: Date;

  /** Exclusive: later ones are of the present engine. */
  @Column('timestamptz')
  createdUntil: Date;

  /** Recordings per minute of all accounts of the job together; null: as many as the workers can. */
  @Column('integer', { nullable: true })
  rate: number | null;

  /** Whether the outcomes are no events. */
  @Column('boolean')
  quiet: boolean;

  /** Creation time and id of the last recording that was looked at, from the newest to the oldest. */
  @Column('timestamptz')
  beforeAt: Date;

  @Column('uuid')
  beforeId: string;

  /** Recordings when it began. */
  @Column('integer')
  total: number;

  @Column('integer')
  marked: number;

  /** Their audio, by which accounts take turns. */
  @Column('bigint')
  markedMs: string;

  @Column('timestamptz')
  markedAt: Date;

  /** Recordings that kept their text, because the engine could not transcribe them. */
  @Column('integer')
  failed: number;

  @Column('timestamptz')
  startedAt: Date;

  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;

  @Column('boolean')
  isCanceled: boolean;
}
