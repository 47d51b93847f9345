import type { SqlRunner } from '../platform/database/database.service.js';

/** What stands behind something that an API key has signed for. */
export interface KeyAccess {
  suspended: boolean;
  /** The key exists, is not revoked and has not expired. */
  keyIsValid: boolean;
}

/** SQL, because the entities of the tables belong to modules. Null when there is no such account. */
export async function selectKeyAccess(runner: SqlRunner, accountId: string, keyId: string): Promise<KeyAccess | null> {
  const [row] = await runner.prepared<KeyAccess>(
    `SELECT a.status = 'suspended' AS suspended, k.id IS NOT NULL AS "keyIsValid"
     FROM accounts a LEFT JOIN api_keys k ON k.id = $2 AND k.account_id = a.id AND k.revoked_at IS NULL
       AND (k.expires_at IS NULL OR k.expires_at > now())
     WHERE a.id = $1`,
    [accountId, keyId],
  );
  return row ?? null;
}
