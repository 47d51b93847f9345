import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** How loud a recording is over time. Written with its first transcript, and never changed (D52). */
@Entity('waveforms')
export class Waveform {
  @ForeignKey('Recording', { onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  recordingId: string;

  /** Length of the decoded audio, which the points divide into equal parts. */
  @Column('integer')
  durationMs: number;

  /** One byte for each point. */
  @Column('bytea')
  peaks: Buffer;
}
