import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { SignInLink } from '../sign-in-link.entity.js';

/** A link that is to be sent by mail; or that somebody has asked for one, with an address that may be nobody's. */
@Entity('sign_in_mails')
export class SignInMail {
  @PrimaryColumn('uuid')
  id: string;

  /** Null of a request. */
  @ForeignKey(() => SignInLink, { onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true, unique: true })
  linkId: string | null;

  /** Bound to the link, until it was sent. */
  @Column('text', { nullable: true, select: false })
  encryptedToken: string | null;

  /** Of a request alone. */
  @Column('text', { nullable: true })
  email: string | null;

  @Column('integer', { default: 0 })
  attempt: number;

  /** Of the next attempt. */
  @Column('timestamptz')
  dueAt: Date;

  @Column('timestamptz')
  createdAt: Date;
}
