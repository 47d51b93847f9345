import { type FindOptionsWhere, IsNull, LessThanOrEqual, MoreThan, Not } from 'typeorm';

export const API_KEY_STATUSES = ['active', 'expired', 'revoked'] as const;
export type ApiKeyStatus = (typeof API_KEY_STATUSES)[number];

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
