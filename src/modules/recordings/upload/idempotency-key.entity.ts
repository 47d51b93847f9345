import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An Idempotency-Key of a committed upload (D20). */
@Entity('idempotency_keys')
export class IdempotencyKey {
  @PrimaryColumn('uuid')
  accountId: string;

  /** The end user of the access token; empty for an API key. */
  @PrimaryColumn('text')
  identity: string;

  @PrimaryColumn('text')
  key: string;

  /** Hex SHA-256 of the file's hash and the fields. */
  @Column('text')
  fingerprint: string;

  @Column('uuid')
  recordingId: string;

  @Column('timestamptz')
  createdAt: Date;
}
