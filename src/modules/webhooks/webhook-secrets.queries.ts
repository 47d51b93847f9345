import type { DatabaseService } from '../../platform/database/database.service.js';

export interface StoredSecret {
  id: string;
  accountId: string;
  encryptedSecret: string;
}

/**
 * Secrets that are not encrypted under key `keyId`, in the order of the webhooks' ids after `afterId`.
 * SQL because the key id is a part of the encrypted text.
 */
export async function secretsUnderOtherKeys(
  database: DatabaseService,
  { keyId, afterId, limit }: { keyId: string; afterId: string; limit: number },
): Promise<StoredSecret[]> {
  return await database.query<StoredSecret>(
    `SELECT id, account_id AS "accountId", encrypted_secret AS "encryptedSecret" FROM webhooks
     WHERE id > $1 AND split_part(encrypted_secret, '.', 1) <> $2 ORDER BY id LIMIT $3`,
    [afterId, keyId, limit],
  );
}
