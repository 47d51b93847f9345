import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Which access tokens of an end user, or of the whole account, are void although they have not expired (D35). */
@Entity('access_token_voids')
export class AccessTokenVoid {
  @PrimaryColumn('uuid')
  accountId: string;

  /** SHA-256 of the end user's identity; empty for all end users. */
  @PrimaryColumn('text')
  identityHash: string;

  /** The account's credential version from which on tokens are valid. */
  @Column('integer')
  validFrom: number;

  @Column('timestamptz')
  voidedAt: Date;
}
