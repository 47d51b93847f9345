import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

@Entity('transcriptions')
export class Transcription {
  /** Another one after each rerun. */
  @PrimaryColumn('uuid')
  id: string;

  /** By name, because modules do not import each other's entities. */
  @ForeignKey('Recording', { onDelete: 'CASCADE' })
  @Column('uuid')
  recordingId: string;

  @Column('uuid')
  accountId: string;

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

  /** JSON text of `[{"word","start","end","confidence"}]`, exactly as it is sent to clients (D27). */
  @Column('text')
  words: string;

  /** 1 at first, plus 1 for each correction, each removal of one, and each rerun. */
  @Column('integer')
  revision: number;

  /** The text and the words, in the form of `words`, of a correction by a person (D44). */
  @Column('text', { nullable: true })
  correctedText: string | null;

  @Column('text', { nullable: true })
  correctedWords: string | null;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;
}

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
