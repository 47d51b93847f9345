import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ActorKind } from '../../access/acting.js';
import type { AuditTarget } from '../../access/audit-trail.js';

/** A change, and who made it (D98). Inserted with the change by `recordChanges`, and never changed but to seal and to erase. */
@Entity('audit_entries')
export class AuditEntry {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  accountId: string;

  /** In the chain of its account; null, with both hashes, until it is sealed. As Postgres sends a bigint. */
  @Column('bigint', { nullable: true })
  number: string | null;

  @Column('text', { nullable: true })
  previousHash: string | null;

  @Column('text', { nullable: true })
  hash: string | null;

  @Column('timestamptz')
  at: Date;

  @Column('text')
  action: string;

  @Column('text')
  outcome: 'success' | 'failure';

  @Column('text')
  actorKind: ActorKind;

  @Column('text', { nullable: true })
  keyId: string | null;

  @Column('text', { nullable: true })
  personId: string | null;

  @Column('text', { nullable: true })
  tokenId: string | null;

  @Column('text', { nullable: true })
  userId: string | null;

  @Column('text', { nullable: true })
  address: string | null;

  @Column('text', { nullable: true })
  userAgent: string | null;

  /** Null when there are no personal data, or not any more. */
  @Column('text', { nullable: true })
  salt: string | null;

  @Column('text', { nullable: true })
  personalHash: string | null;

  @Column('text', { nullable: true })
  requestId: string | null;

  @Column('text', { nullable: true })
  targetId: string | null;

  @Column('jsonb')
  targets: AuditTarget[];

  @Column('jsonb', { nullable: true })
  before: object | null;

  @Column('jsonb', { nullable: true })
  after: object | null;
}

/** An entry, with the present name of the person who made the change. */
export type NamedEntry = AuditEntry & { personName: string | null };

/** The chain of an account. Numbers as Postgres sends a bigint. */
@Entity('audit_logs')
export class AuditLog {
  @PrimaryColumn('uuid')
  accountId: string;

  /** Of the last entry that was sealed. */
  @Column('bigint')
  lastNumber: string;

  @Column('text')
  lastHash: string;

  /** Of the last entry that was removed: the chain begins behind it. */
  @Column('bigint')
  removedNumber: string;

  @Column('text')
  removedHash: string;

  /** Whether requests that only read are recorded, too. */
  @Column('boolean')
  recordsReads: boolean;

  /** How long entries are kept; null: for ever. */
  @Column('integer', { nullable: true })
  retainDays: number | null;
}
