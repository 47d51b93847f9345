import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import type { Role } from '../../access/roles.js';
import { Person } from './person.entity.js';

/** A link for one use: it signs in a person, or invites somebody to an account. */
@Entity('sign_in_links')
export class SignInLink {
  @PrimaryColumn('uuid')
  id: string;

  /** SHA-256 of the token, which stands in the link alone. */
  @Column('text', { select: false })
  tokenHash: string;

  /** The account for which the session acts. */
  @ForeignKey('Account', { onDelete: 'CASCADE' })
  @Column('uuid')
  accountId: string;

  /** Whom it signs in; null for an invitation. */
  @ForeignKey(() => Person, { onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  personId: string | null;

  /** Of an invitation, as `role`. */
  @Column('text', { nullable: true })
  email: string | null;

  @Column('text', { nullable: true })
  role: Role | null;

  /** Who made it: a person, a key, or, without both, the operator. */
  @Column('uuid', { nullable: true })
  createdByPerson: string | null;

  @Column('uuid', { nullable: true })
  createdByKey: string | null;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  expiresAt: Date;
}
