import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** A keyword that was said in a recording. */
@Entity('keyword_alerts')
export class KeywordAlert {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  accountId: string;

  @ForeignKey('Recording', { onDelete: 'CASCADE' })
  @Column('uuid')
  recordingId: string;

  @Column('text')
  keyword: string;

  /** Seconds from the start of the recording. */
  @Column('double precision')
  saidAt: number;

  @Column('timestamptz')
  createdAt: Date;
}
