import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** A part of the text of a recording that is being transcribed (D77). Deleted when the recording has ended. */
@Entity('transcription_partials')
export class TranscriptionPartial {
  /** By name, because modules do not import each other's entities. */
  @ForeignKey('Recording', { onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  recordingId: string;

  /** From 0, without a gap. */
  @PrimaryColumn('integer')
  index: number;

  @Column('integer')
  startMs: number;

  @Column('integer')
  endMs: number;

  @Column('text')
  text: string;
}
