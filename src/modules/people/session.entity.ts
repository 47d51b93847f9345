import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { type AuditedChange, auditTarget } from '../../access/audit-trail.js';
import { Person } from './person.entity.js';

export const SESSION_BEGINNINGS = ['password', 'link', 'provider', 'passkey'] as const;
export type SessionBeginning = (typeof SESSION_BEGINNINGS)[number];

/** That a person has signed in, in one browser. */
@Entity('sessions')
export class Session {
  @PrimaryColumn('uuid')
  id: string;

  /** SHA-256 of the token, which stands in the cookie alone. */
  @Column('text', { select: false })
  tokenHash: string;

  @ForeignKey(() => Person, { onDelete: 'CASCADE' })
  @Column('uuid')
  personId: string;

  /** The account for which it acts now. */
  @ForeignKey('Account', { onDelete: 'CASCADE' })
  @Column('uuid')
  accountId: string;

  @Column('text')
  beganWith: SessionBeginning;

  /** The member who made the link; null for one of the operator's, and for a password. */
  @Column('uuid', { nullable: true })
  linkMadeBy: string | null;

  /** Of a session that began at an OpenID provider (D102): by what the provider is asked again. All or none are set. */
  @Column('uuid', { nullable: true })
  identityId: string | null;

  @Column('text', { nullable: true })
  provider: string | null;

  /** The refresh token, encrypted; bound to the identity. */
  @Column('text', { nullable: true, select: false })
  providerToken: string | null;

  /** When the provider was last asked, and when it last said yes. */
  @Column('timestamptz', { nullable: true })
  checkedAt: Date | null;

  @Column('timestamptz', { nullable: true })
  confirmedAt: Date | null;

  /** Of the browser, when it signed in. */
  @Column('text', { nullable: true })
  address: string | null;

  @Column('text', { nullable: true })
  userAgent: string | null;

  @Column('timestamptz')
  createdAt: Date;

  /** Within a minute or so. */
  @Column('timestamptz')
  lastSeenAt: Date;

  @Column('timestamptz')
  expiresAt: Date;
}

/** An entry of the audit log about a session, in the log of the account for which it acts. */
export const sessionChange = ({ accountId, id }: Pick<Session, 'accountId' | 'id'>, action: string): AuditedChange => ({
  accountId,
  action,
  targets: [auditTarget('session', id)],
});
