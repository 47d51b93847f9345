import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** A transcription that a rerun has replaced (D49). It has no words: its text can be compared, and put back as a correction. */
@Entity('earlier_transcriptions')
export class EarlierTranscription {
  @PrimaryColumn('uuid')
  id: string;

  @ForeignKey('Recording', { onDelete: 'CASCADE' })
  @Column('uuid')
  recordingId: string;

  @Column('text')
  text: string;

  /** 0–1. */
  @Column('double precision')
  confidence: number;

  /** Lower-case English name. */
  @Column('text')
  language: string;

  @Column('text')
  provider: string;

  @Column('text')
  model: string;

  @Column('integer')
  processingDurationMs: number;

  @Column('timestamptz')
  createdAt: Date;
}
