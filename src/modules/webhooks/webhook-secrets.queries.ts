import type { DatabaseService } from '../../platform/database/database.service.js';

export interface StoredSecret {
  id: string;
  accountId: string;
  encryptedSecret: string;
  /** Whether it is the webhook's previous secret, which is still valid (D37). */
  isPrevious: boolean;
}

/** Where the last batch ended. */
export type SecretPosition = Pick<StoredSecret, 'id' | 'isPrevious'>;

/**
 * Secrets that are not encrypted under key `keyId`, in the order of the webhooks' ids, after a position.
 * SQL because the key id is a part of the encrypted text.
 */
export async function secretsUnderOtherKeys(
  database: DatabaseService,
  { keyId, after, limit }: { keyId: string; after: SecretPosition; limit: number },
): Promise<StoredSecret[]> {
  return await database.query<StoredSecret>(
    `SELECT id, account_id AS "accountId", secret AS "encryptedSecret", is_previous AS "isPrevious" FROM (
       SELECT id, account_id, encrypted_secret AS secret, false AS is_previous FROM webhooks
       UNION ALL
       SELECT id, account_id, previous_encrypted_secret, true FROM webhooks WHERE previous_secret_until > now()) s
     WHERE (id, is_previous) > ($1::uuid, $2::boolean) AND split_part(secret, '.', 1) <> $3
     ORDER BY id, is_previous LIMIT $4`,
    [after.id, after.isPrevious, keyId, limit],
  );
}
