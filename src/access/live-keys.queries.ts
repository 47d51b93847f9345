import type { SqlRunner } from '../platform/database/database.service.js';

/**
 * Those of the API keys that may still be used with this scope. SQL, because the entities of the tables belong to
 * modules.
 */
export async function selectLiveKeys(runner: SqlRunner, keyIds: readonly string[], scope: string): Promise<string[]> {
  const rows = await runner.prepared<{ id: string }>(
    `SELECT k.id FROM api_keys k JOIN accounts a ON a.id = k.account_id
     WHERE k.id = ANY ($1) AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
       AND $2 = ANY (k.scopes) AND a.status = 'active'`,
    [keyIds, scope],
  );
  return rows.map(({ id }) => id);
}
