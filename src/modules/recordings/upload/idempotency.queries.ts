import type { SqlRunner, Tx } from '../../../platform/database/database.service.js';
import type { IdempotencyKey } from './idempotency-key.entity.js';

/** How long a key is kept (D20). */
const KEPT_HOURS = 24;

type KeyOfCaller = Pick<IdempotencyKey, 'accountId' | 'identity' | 'key'>;

/**
 * The upload that this key was used for. SQL, because the clock of the database decides whether a key has expired.
 */
export async function findIdempotencyKey(
  runner: SqlRunner,
  { accountId, identity, key }: KeyOfCaller,
): Promise<Pick<IdempotencyKey, 'fingerprint' | 'recordingId'> | null> {
  const [row] = await runner.query<Pick<IdempotencyKey, 'fingerprint' | 'recordingId'>>(
    `SELECT fingerprint, recording_id AS "recordingId" FROM idempotency_keys
     WHERE account_id = $1 AND identity = $2 AND key = $3
       AND created_at >= now() - make_interval(hours => ${KEPT_HOURS})`,
    [accountId, identity, key],
  );
  return row ?? null;
}

/**
 * Stores the key with its recording, in place of an expired one. SQL, because of the condition on the conflict.
 * @returns false when the key is in use.
 */
export async function claimIdempotencyKey(tx: Tx, row: Omit<IdempotencyKey, 'createdAt'>): Promise<boolean> {
  const claimed = await tx.query(
    `INSERT INTO idempotency_keys AS k (account_id, identity, key, fingerprint, recording_id, created_at)
     VALUES ($1, $2, $3, $4, $5, now())
     ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE
       SET fingerprint = excluded.fingerprint, recording_id = excluded.recording_id, created_at = excluded.created_at
       WHERE k.created_at < now() - make_interval(hours => ${KEPT_HOURS})
     RETURNING key`,
    [row.accountId, row.identity, row.key, row.fingerprint, row.recordingId],
  );
  return claimed.length > 0;
}

/** SQL, because the clock of the database decides, and because of LIMIT. @returns how many, at most `count`. */
export async function deleteExpiredIdempotencyKeys(runner: SqlRunner, count: number): Promise<number> {
  const rows = await runner.query(
    `DELETE FROM idempotency_keys WHERE (account_id, identity, key) IN (
       SELECT account_id, identity, key FROM idempotency_keys
       WHERE created_at < now() - make_interval(hours => ${KEPT_HOURS}) LIMIT $1)
     RETURNING 1`,
    [count],
  );
  return rows.length;
}
