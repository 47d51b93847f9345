import { accountNotOnHold } from '../../../access/accounts.queries.js';
import type { SqlRunner, Tx } from '../../../platform/database/database.service.js';
import { type HeldLease, type LeasedTable, lockLeased, pickDue } from '../../../platform/database/leases.queries.js';
import { selectList } from '../../../platform/database/statement-parts.js';
import { Recording } from '../recording.entity.js';
import type { RecordingLink } from './recording-link.entity.js';

/** A worker's right to fetch a link, until its lease ends. */
export type LinkLease = Pick<RecordingLink, 'recordingId' | 'accountId' | 'encryptedUrl' | 'attempt' | 'claims'> & {
  leaseToken: string;
  /** The key of an object that an earlier claim, whose lease has ended, may have left. */
  reservedKey: string | null;
};

export const LINKS: LeasedTable = { table: 'recording_links', token: 'lease_token', until: 'due_at' };

const COLUMNS = selectList(Recording, 'r');

export async function insertLink(
  tx: Tx,
  { recordingId, accountId, encryptedUrl }: Pick<RecordingLink, 'recordingId' | 'accountId' | 'encryptedUrl'>,
): Promise<void> {
  await tx.query(
    'INSERT INTO recording_links (recording_id, account_id, encrypted_url, due_at) VALUES ($1, $2, $3, now())',
    [recordingId, accountId, encryptedUrl],
  );
}

/** Has the link of a retried recording fetched again. SQL, because of the clock of the database. @returns whether it has one. */
export async function reopenLink(tx: Tx, recordingId: string, accountId: string): Promise<boolean> {
  const rows = await tx.query(
    `UPDATE recording_links SET due_at = now(), ended_at = NULL, attempt = 0
     WHERE recording_id = $1 AND account_id = $2 AND ended_at IS NOT NULL RETURNING 1`,
    [recordingId, accountId],
  );
  return rows.length > 0;
}

const CLAIM = `
  ${pickDue(LINKS, accountNotOnHold('a.id'))}
  UPDATE recording_links l SET lease_token = $1, due_at = clock_timestamp() + make_interval(secs => $2),
    attempt = attempt + 1, claims = claims + 1
  FROM picked WHERE l.recording_id = picked.recording_id
  RETURNING l.recording_id AS "recordingId", l.account_id AS "accountId", l.encrypted_url AS "encryptedUrl", l.attempt,
    l.claims, l.lease_token AS "leaseToken", l.reserved_key AS "reservedKey"`;

/** SQL, because it locks, updates and reads at once. @returns null when none is due. */
export async function claimLink(
  runner: SqlRunner,
  {
    leaseToken,
    leaseSeconds,
    exceptAccounts,
  }: { leaseToken: string; leaseSeconds: number; exceptAccounts: readonly string[] },
): Promise<LinkLease | null> {
  const [lease] = await runner.query<LinkLease>(CLAIM, [leaseToken, leaseSeconds, exceptAccounts]);
  return lease ?? null;
}

/**
 * Ends the lease; the next attempt is later. SQL, because of the clock of the database.
 * @param attempts 0 when this one does not count.
 */
export async function releaseLink(
  runner: SqlRunner,
  { recordingId, leaseToken }: HeldLease,
  { delaySeconds, attempts }: { delaySeconds: number; attempts: 0 | 1 },
): Promise<void> {
  await runner.query(
    `UPDATE recording_links SET lease_token = NULL, due_at = now() + make_interval(secs => $3),
       attempt = attempt - 1 + $4::int
     WHERE recording_id = $1 AND lease_token = $2`,
    [recordingId, leaseToken, delaySeconds, attempts],
  );
}

/** Notes the key before it is reserved, for the next claim of the link. @returns whether the lease is still held. */
export async function noteReservation(
  runner: SqlRunner,
  { recordingId, leaseToken }: HeldLease,
  objectKey: string | null,
): Promise<boolean> {
  const rows = await runner.query(
    'UPDATE recording_links SET reserved_key = $3 WHERE recording_id = $1 AND lease_token = $2 RETURNING 1',
    [recordingId, leaseToken, objectKey],
  );
  return rows.length > 0;
}

/**
 * Locks the recording of a link, and then the link: a deletion locks them in that order, too.
 * @returns null when the lease is lost, or the recording deleted.
 */
export async function lockLinked(tx: Tx, held: HeldLease): Promise<Recording | null> {
  const [recording] = await tx.query<Recording>(
    `SELECT ${COLUMNS} FROM recordings r WHERE id = $1 AND status = 'processing' FOR UPDATE`,
    [held.recordingId],
  );
  return (await lockLeased(tx, LINKS, held)) ? (recording ?? null) : null;
}

/** Removes the link of a recording that has its file. */
export async function deleteLink(tx: Tx, recordingId: string): Promise<void> {
  await tx.query('DELETE FROM recording_links WHERE recording_id = $1', [recordingId]);
}

/** Keeps the link of a recording that has failed for a retry. SQL, because of the clock of the database. */
export async function endLink(tx: Tx, recordingId: string): Promise<void> {
  await tx.query(
    `UPDATE recording_links SET due_at = NULL, lease_token = NULL, ended_at = now() WHERE recording_id = $1`,
    [recordingId],
  );
}

/** SQL, because the clock of the database decides. @returns how many, at most `count`. */
export async function deleteOldLinks(runner: SqlRunner, days: number, count: number): Promise<number> {
  const rows = await runner.query(
    // The second condition is checked again when a retry has changed the row meanwhile.
    `DELETE FROM recording_links WHERE recording_id IN (
       SELECT recording_id FROM recording_links WHERE ended_at < now() - make_interval(days => $1) LIMIT $2)
       AND ended_at IS NOT NULL RETURNING 1`,
    [days, count],
  );
  return rows.length;
}
