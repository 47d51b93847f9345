import { Column, Entity, PrimaryColumn } from 'typeorm';

/** What an account was given of the transcription engines, in milliseconds of audio on a clock common to all accounts. */
@Entity('transcription_shares')
export class TranscriptionShare {
  @PrimaryColumn('uuid')
  accountId: string;

  /** Where its last claim began. */
  @Column('bigint')
  virtualStart: string;

  /** Where its next claim begins, unless the others are further by then. */
  @Column('bigint')
  virtualEnd: string;

  /** Whether it has recordings that wait or are leased. Set by a trigger on `recordings`, unset by the reconciler. */
  @Column('boolean')
  isWaiting: boolean;
}
