import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Scope } from '../../access/scopes.js';
import { type ApiKeyStatus, statusOf } from './api-key-status.js';

/** Length of `key_prefix` (D9). */
const PREFIX_LENGTH = 12;

@Entity('api_keys')
export class ApiKey {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  accountId: string;

  @Column('text')
  name: string;

  @Column('text', { nullable: true })
  description: string | null;

  /** The public half of the pair, `vnk_…`. */
  @Column('text')
  key: string;

  /** A keyed hash of the secret half; selected only where it is compared. */
  @Column('text', { select: false })
  secretHash: string;

  @Column('text', { array: true })
  scopes: Scope[];

  /** `bigint` comes as text; counts stay far below 2^53. */
  @Column('bigint', { transformer: { to: (count: number) => count, from: Number } })
  usageCount: number;

  @Column('timestamptz', { nullable: true })
  lastUsedAt: Date | null;

  @Column('timestamptz', { nullable: true })
  expiresAt: Date | null;

  @Column('timestamptz', { nullable: true })
  revokedAt: Date | null;

  /** The key that made this one; null when the operator did. */
  @Column('uuid', { nullable: true })
  createdBy: string | null;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;

  get keyPrefix(): string {
    return this.key.slice(0, PREFIX_LENGTH);
  }

  get status(): ApiKeyStatus {
    return statusOf(this);
  }
}
