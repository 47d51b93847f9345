import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { EndUserRight } from '../../access/principal.js';
import type { PublicJwk } from './public-keys.js';

/** Whose tokens an account accepts (D94). It has either a URL of keys or the keys themselves. */
@Entity('token_issuers')
export class TokenIssuer {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  accountId: string;

  /** The claim `iss` of its tokens. */
  @Column('text')
  issuer: string;

  @Column('text', { nullable: true })
  jwksUrl: string | null;

  @Column('jsonb', { nullable: true })
  keys: PublicJwk[] | null;

  /** What its tokens may do beside uploading. */
  @Column('text', { array: true })
  allows: EndUserRight[];

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;
}
