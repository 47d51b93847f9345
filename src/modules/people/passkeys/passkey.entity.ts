import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { Person } from '../person.entity.js';

/** A WebAuthn credential with which a person signs in (D103). */
@Entity('passkeys')
export class Passkey {
  @PrimaryColumn('uuid')
  id: string;

  @ForeignKey(() => Person, { onDelete: 'CASCADE' })
  @Column('uuid')
  personId: string;

  /** Chosen by the authenticator; base64url. */
  @Column('text')
  credentialId: string;

  /** COSE_Key as base64url. */
  @Column('text', { select: false })
  publicKey: string;

  /** Signatures that the authenticator has made; 0 from one that does not count. `bigint` comes as text. */
  @Column('bigint', { select: false, transformer: { to: (count: number) => count, from: Number } })
  counter: number;

  /** How browsers reach the authenticator, as WebAuthn names it. */
  @Column('text', { array: true })
  transports: string[];

  @Column('text')
  name: string;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  lastUsedAt: Date | null;
}
