import type { DatabaseService, Tx } from '../../platform/database/database.service.js';
import type { ApiKey } from './api-key.entity.js';

/** What the guards need to know of a key that is not revoked. */
export interface ApiKeyCredential extends Pick<ApiKey, 'id' | 'accountId' | 'scopes' | 'secretHash' | 'expiresAt'> {
  /** `accounts.credential_version` when this was read. */
  version: number;
  /** SHA-256 of the secret, once it matched the hash. */
  secretDigest?: Buffer;
}

const CREDENTIAL = `k.id, k.account_id AS "accountId", k.scopes, k.secret_hash AS "secretHash",
       k.expires_at AS "expiresAt", a.credential_version AS version`;

/** SQL, because it is prepared and reads the account's version in the same snapshot: it runs for each key not cached. */
export async function findCredential(database: DatabaseService, key: string): Promise<ApiKeyCredential | null> {
  const [found] = await database.prepared<ApiKeyCredential>(
    `SELECT ${CREDENTIAL} FROM api_keys k JOIN accounts a ON a.id = k.account_id
     WHERE k.key = $1 AND k.revoked_at IS NULL`,
    [key],
  );
  return found ?? null;
}

/** The same for many keys. @returns null for each that is unknown or revoked. */
export async function findCredentials(
  database: DatabaseService,
  keys: readonly string[],
): Promise<(ApiKeyCredential | null)[]> {
  const found = await database.prepared<ApiKeyCredential & { key: string }>(
    `SELECT k.key, ${CREDENTIAL} FROM api_keys k JOIN accounts a ON a.id = k.account_id
     WHERE k.key = ANY($1::text[]) AND k.revoked_at IS NULL`,
    [keys],
  );
  const byKey = new Map(found.map(({ key, ...credential }) => [key, credential]));
  return keys.map((key) => byKey.get(key) ?? null);
}

/** Uses of one key since the last write. */
export interface KeyUses {
  count: number;
  lastUsedAt: Date;
}

/**
 * SQL, because one statement updates many rows with different values. The rows are locked in the order of their ids, so
 * that two processes cannot deadlock.
 */
export async function addKeyUses(database: DatabaseService, uses: ReadonlyMap<string, KeyUses>): Promise<void> {
  await database.query(
    `UPDATE api_keys k SET usage_count = k.usage_count + u.count, last_used_at = greatest(k.last_used_at, u.used_at)
     FROM (SELECT k.id, u.count, u.used_at
           FROM unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) AS u (id, count, used_at)
           JOIN api_keys k USING (id) ORDER BY k.id FOR UPDATE OF k) u
     WHERE k.id = u.id`,
    [
      [...uses.keys()],
      [...uses.values()].map(({ count }) => count),
      [...uses.values()].map(({ lastUsedAt }) => lastUsedAt),
    ],
  );
}

/** Which keys to revoke: one, or one with all that it made, directly or through others. */
export interface RevokedKeys {
  accountId: string;
  id: string;
  descendants: boolean;
}

/**
 * Revokes keys and returns the ids of those that were not revoked before. SQL because of the recursion. The rows are
 * locked in the order of their ids, as by `addKeyUses`, so that the two cannot deadlock.
 */
export async function revokeKeys(tx: Tx, { accountId, id, descendants }: RevokedKeys): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `WITH RECURSIVE tree AS (
       SELECT id FROM api_keys WHERE id = $1 AND account_id = $2
       UNION SELECT k.id FROM api_keys k JOIN tree t ON k.created_by = t.id WHERE $3 AND k.account_id = $2),
     active AS (SELECT k.id FROM api_keys k JOIN tree USING (id) WHERE k.revoked_at IS NULL
       ORDER BY k.id FOR UPDATE OF k)
     UPDATE api_keys k SET revoked_at = now(), updated_at = now() FROM active WHERE k.id = active.id RETURNING k.id`,
    [id, accountId, descendants],
  );
  return rows.map((row) => row.id);
}
