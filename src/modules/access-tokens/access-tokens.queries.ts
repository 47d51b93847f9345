import type { DatabaseService, Tx } from '../../platform/database/database.service.js';

/** What an access token depends on, beside its signature: the key that issued it, and what was voided since. */
export interface AccessTokenGrant {
  /** `accounts.credential_version` when this was read. */
  version: number;
  /** Whether the key exists and is not revoked; true where a token names none. */
  keyIsValid: boolean;
  /** When the key expires. */
  expiresAt: Date | null;
  /** Tokens that were issued at an earlier credential version are void. */
  validFrom: number;
}

/** SQL, because it is prepared and reads everything in one snapshot: it runs for each end user not cached. */
export async function findGrant(
  database: DatabaseService,
  { accountId, keyId, identityHash }: { accountId: string; keyId: string | null; identityHash: string },
): Promise<AccessTokenGrant | null> {
  const [found] = await database.prepared<AccessTokenGrant>(
    `SELECT a.credential_version AS version, $2::uuid IS NULL OR k.id IS NOT NULL AS "keyIsValid",
       k.expires_at AS "expiresAt",
       coalesce((SELECT max(v.valid_from) FROM access_token_voids v
                 WHERE v.account_id = a.id AND v.identity_hash IN ('', $3)), 0) AS "validFrom"
     FROM accounts a LEFT JOIN api_keys k ON k.id = $2::uuid AND k.account_id = a.id AND k.revoked_at IS NULL
     WHERE a.id = $1`,
    [accountId, keyId, identityHash],
  );
  return found ?? null;
}

/**
 * Voids the tokens of an end user, or of all with an empty hash, that were issued before the credential version which
 * this gives the account. SQL, because both tables change in one statement.
 */
export async function voidTokens(tx: Tx, accountId: string, identityHash: string): Promise<void> {
  await tx.query(
    `WITH raised AS (
       UPDATE accounts SET credential_version = credential_version + 1 WHERE id = $1 RETURNING credential_version)
     INSERT INTO access_token_voids (account_id, identity_hash, valid_from, voided_at)
     SELECT $1, $2, credential_version, now() FROM raised
     ON CONFLICT (account_id, identity_hash) DO UPDATE
       SET valid_from = excluded.valid_from, voided_at = excluded.voided_at`,
    [accountId, identityHash],
  );
}

/** Longer than any token lives (D15). */
const KEPT_HOURS = 25;
const BATCH = 100;

/** Removes what no living token depends on. SQL because of LIMIT in a DELETE. */
export async function removeOldVoids(tx: Tx, accountId: string): Promise<void> {
  await tx.query(
    `DELETE FROM access_token_voids WHERE account_id = $1 AND identity_hash IN (
       SELECT identity_hash FROM access_token_voids
       WHERE account_id = $1 AND voided_at < now() - make_interval(hours => ${KEPT_HOURS}) LIMIT ${BATCH})`,
    [accountId],
  );
}
