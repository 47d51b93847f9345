import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { SqlRunner, Tx } from '../../../platform/database/database.service.js';

/** An Idempotency-Key of a committed upload (D20). */
@Entity('idempotency_keys')
export class IdempotencyKey {
  @PrimaryColumn('uuid')
  accountId: string;

  /** The end user of the access token; empty for an API key. */
  @PrimaryColumn('text')
  identity: string;

  @PrimaryColumn('text')
  key: string;

  /** Hex SHA-256 of the file's hash and the fields. */
  @Column('text')
  fingerprint: string;

  @Column('uuid')
  recordingId: string;

  @Column('timestamptz')
  createdAt: Date;
}

/** How long an Idempotency-Key is kept (D20), and the longest time for any key. */
export const KEPT_SECONDS = 86_400;

type KeyOfCaller = Pick<IdempotencyKey, 'accountId' | 'identity' | 'key'>;

/**
 * The upload that this key was used for. SQL, because the clock of the database decides whether a key has expired.
 * @param keptSeconds at most a day.
 */
export async function findIdempotencyKey(
  runner: SqlRunner,
  { accountId, identity, key }: KeyOfCaller,
  keptSeconds: number,
): Promise<Pick<IdempotencyKey, 'fingerprint' | 'recordingId'> | null> {
  const [row] = await runner.query<Pick<IdempotencyKey, 'fingerprint' | 'recordingId'>>(
    `SELECT fingerprint, recording_id AS "recordingId" FROM idempotency_keys
     WHERE account_id = $1 AND identity = $2 AND key = $3
       AND created_at >= now() - make_interval(secs => $4)`,
    [accountId, identity, key, keptSeconds],
  );
  return row ?? null;
}

/**
 * Stores the key with its recording, in place of an expired one. SQL, because of the condition on the conflict.
 * @returns false when the key is in use.
 */
export async function claimIdempotencyKey(
  tx: Tx,
  row: Omit<IdempotencyKey, 'createdAt'>,
  keptSeconds: number,
): Promise<boolean> {
  const claimed = await tx.query(
    `INSERT INTO idempotency_keys AS k (account_id, identity, key, fingerprint, recording_id, created_at)
     VALUES ($1, $2, $3, $4, $5, now())
     ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE
       SET fingerprint = excluded.fingerprint, recording_id = excluded.recording_id, created_at = excluded.created_at
       WHERE k.created_at < now() - make_interval(secs => $6)
     RETURNING key`,
    [row.accountId, row.identity, row.key, row.fingerprint, row.recordingId, keptSeconds],
  );
  return claimed.length > 0;
}

/** Only while it names that recording: a later upload may have taken the key. SQL as the other statements here. */
export async function forgetIdempotencyKey(
  runner: SqlRunner,
  { accountId, identity, key, recordingId }: KeyOfCaller & Pick<IdempotencyKey, 'recordingId'>,
): Promise<void> {
  await runner.query(
    `DELETE FROM idempotency_keys WHERE account_id = $1 AND identity = $2 AND key = $3 AND recording_id = $4`,
    [accountId, identity, key, recordingId],
  );
}

/** SQL, because the clock of the database decides, and because of LIMIT. @returns how many, at most `count`. */
export async function deleteExpiredIdempotencyKeys(runner: SqlRunner, count: number): Promise<number> {
  const rows = await runner.query(
    `DELETE FROM idempotency_keys WHERE (account_id, identity, key) IN (
       SELECT account_id, identity, key FROM idempotency_keys
       WHERE created_at < now() - make_interval(secs => ${KEPT_SECONDS}) LIMIT $1)
     RETURNING 1`,
    [count],
  );
  return rows.length;
}
