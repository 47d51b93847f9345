import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The link that a recording was uploaded with, until its file is stored (D72). */
@Entity('recording_links')
export class RecordingLink {
  @PrimaryColumn('uuid')
  recordingId: string;

  @Column('uuid')
  accountId: string;

  /** Decrypts only together with the recording's id. */
  @Column('text')
  encryptedUrl: string;

  /** Time of the next attempt or, while a worker holds the lease, its end. Null when the last attempt has failed. */
  @Column('timestamptz', { nullable: true })
  dueAt: Date | null;

  @Column('uuid', { nullable: true })
  leaseToken: string | null;

  /** Number of claims since the upload or the last retry. */
  @Column('integer')
  attempt: number;

  /** Number of all claims, so that each has a key of its own for the object. */
  @Column('integer')
  claims: number;

  /** The key that the last claim has reserved for the object. */
  @Column('text', { nullable: true })
  reservedKey: string | null;

  /** Of the last attempt that has failed. */
  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;
}
