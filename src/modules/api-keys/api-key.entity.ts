import { Column, Entity, type FindOptionsWhere, IsNull, LessThanOrEqual, MoreThan, Not, PrimaryColumn } from 'typeorm';
import type { Scope } from '../../access/scopes.js';

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

  /** The public half of the pair: `vnk_…`, or `vnk_test_…` of a test account. */
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

  /** CIDRs from which the key may be used; null for any (D95). */
  @Column('text', { array: true, nullable: true })
  allowedAddresses: string[] | null;

  /** The key that made this one; null when a person or the operator did. */
  @Column('uuid', { nullable: true })
  createdBy: string | null;

  /** The person who made it (D97), who may have left since. */
  @Column('uuid', { nullable: true })
  createdByPerson: string | null;

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

/** `test`: of the test account (D80). */
export const API_KEY_MODES = ['live', 'test'] as const;
export type ApiKeyMode = (typeof API_KEY_MODES)[number];

export const API_KEY_STATUSES = ['active', 'expired', 'revoked'] as const;
export type ApiKeyStatus = (typeof API_KEY_STATUSES)[number];

export const API_KEY_WARNINGS = ['expires_soon', 'unused'] as const;
export type ApiKeyWarning = (typeof API_KEY_WARNINGS)[number];

const DAY_MS = 86_400_000;
const EXPIRES_SOON_MS = 14 * DAY_MS;
const UNUSED_MS = 90 * DAY_MS;

/** What needs attention (D95). Nothing of a key that is not active. */
export function warningsOf(
  key: KeyState & Pick<ApiKey, 'lastUsedAt' | 'createdAt'>,
  now = new Date(),
): ApiKeyWarning[] {
  if (statusOf(key, now) !== 'active') return [];
  const { expiresAt, lastUsedAt, createdAt } = key;
  const isDue: Record<ApiKeyWarning, boolean> = {
    expires_soon: expiresAt !== null && expiresAt.getTime() - now.getTime() <= EXPIRES_SOON_MS,
    unused: now.getTime() - (lastUsedAt ?? createdAt).getTime() >= UNUSED_MS,
  };
  return API_KEY_WARNINGS.filter((warning) => isDue[warning]);
}

interface KeyState {
  accountId: string;
  revokedAt: Date | null;
  expiresAt: Date | null;
}

/** A revoked key stays revoked, also after its expiry (D12). */
export function statusOf({ revokedAt, expiresAt }: Omit<KeyState, 'accountId'>, now = new Date()): ApiKeyStatus {
  if (revokedAt) return 'revoked';
  return expiresAt && expiresAt <= now ? 'expired' : 'active';
}

/** The same rule as a condition for TypeORM. @param accountId undefined for the keys of all accounts. */
export function whereStatus(
  accountId: string | undefined,
  status: ApiKeyStatus,
  now = new Date(),
): FindOptionsWhere<KeyState>[] {
  const conditions: Record<ApiKeyStatus, FindOptionsWhere<KeyState>[]> = {
    active: [
      { revokedAt: IsNull(), expiresAt: IsNull() },
      { revokedAt: IsNull(), expiresAt: MoreThan(now) },
    ],
    expired: [{ revokedAt: IsNull(), expiresAt: LessThanOrEqual(now) }],
    revoked: [{ revokedAt: Not(IsNull()) }],
  };
  return conditions[status].map((condition) => ({ ...condition, ...(accountId && { accountId }) }));
}
