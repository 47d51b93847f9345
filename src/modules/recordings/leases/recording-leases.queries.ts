import { accountNotOnHold } from '../../../access/accounts.queries.js';
import type { SqlRunner, Tx } from '../../../platform/database/database.service.js';
import { selectList } from '../../../platform/database/statement-parts.js';
import { Recording } from '../recording.entity.js';

/** A worker's right to finish a recording, until `leaseUntil`; `renewRecording` extends it. */
export type Lease = Pick<
  Recording,
  | 'id'
  | 'accountId'
  | 'originalFilename'
  | 'createdAt'
  | 'run'
  | 'objectKey'
  | 'audioFormat'
  | 'sampleRate'
  | 'channels'
  | 'separateChannels'
  | 'durationMs'
  | 'bitRate'
  | 'language'
  | 'languages'
  | 'translate'
  | 'vocabulary'
  | 'speakers'
  | 'requestedEngine'
  | 'rerun'
  | 'attempt'
  | 'faults'
> & {
  leaseToken: string;
  /** Terms of the account (D48). */
  accountVocabulary: string[];
  /** The engines of the account as stored, or null for those of the service. */
  accountEngines: unknown;
  /** Of a test account: its name, not an engine, says how it ends (D80). */
  isTest: boolean;
  /** The plan of the account, as stored. */
  plan: string;
  /** Seconds since its upload, at the claim. */
  ageSeconds: number;
  /** Whether another worker had claimed it and its lease has expired: that worker was lost. */
  isTakenOver: boolean;
};

/** Claims of one run, whatever ended them. */
export const MAX_ATTEMPTS = 20;
/** Recordings that one round of the reconciler fails. */
const BATCH = 100;

const COLUMNS = selectList(Recording, 'r');

/** To be transcribed, for the first time or again. */
const IS_UNFINISHED = `(status = 'processing' OR rerun IS NOT NULL)`;

/** SQL, because of the clock of the database. @returns whether the lease is still held. */
export async function renewRecording(
  runner: SqlRunner,
  { id, leaseToken }: Pick<Lease, 'id' | 'leaseToken'>,
  leaseSeconds: number,
): Promise<boolean> {
  const rows = await runner.query(
    `UPDATE recordings SET lease_until = clock_timestamp() + make_interval(secs => $3)
     WHERE id = $1 AND ${IS_UNFINISHED} AND lease_token = $2 RETURNING id`,
    [id, leaseToken, leaseSeconds],
  );
  return rows.length > 0;
}

export interface Release {
  /** Time before the next claim. */
  delaySeconds: number;
  /** 0 when this attempt does not count, as when the worker is asked to stop. */
  attempts: 0 | 1;
  /** 1 when the audio may be the cause. */
  faults: 0 | 1;
}

/**
 * Without a delay the recording takes its old place in the queue of its account. SQL, because of the clock of the
 * database and the sums.
 */
export async function releaseRecording(
  runner: SqlRunner,
  { id, leaseToken }: Pick<Lease, 'id' | 'leaseToken'>,
  { delaySeconds, attempts, faults }: Release,
): Promise<void> {
  await runner.query(
    `UPDATE recordings SET lease_token = NULL,
       lease_until = CASE WHEN $3::float8 > 0 THEN now() + make_interval(secs => $3) END,
       attempt = attempt - 1 + $4::int, faults = faults + $5::int
     WHERE id = $1 AND ${IS_UNFINISHED} AND lease_token = $2`,
    [id, leaseToken, delaySeconds, attempts, faults],
  );
}

/** SQL, because of the clock of the database. */
export async function selectExhausted(runner: SqlRunner): Promise<Pick<Recording, 'id'>[]> {
  return await runner.query(
    `SELECT id FROM recordings r WHERE ${IS_UNFINISHED} AND attempt >= ${MAX_ATTEMPTS} AND lease_until < now()
       AND ${accountNotOnHold('r.account_id')}
     LIMIT ${BATCH}`,
  );
}

export type UnfinishedRecording = Pick<Recording, 'durationMs' | 'rerun' | 'createdAt'>;

/**
 * Locks the recording for its terminal state. SQL, because of the clock of the database.
 * @param leaseToken null for a recording whose lease has expired.
 * @returns null when the lease is lost, or the recording deleted or finished.
 */
export async function lockUnfinished(
  tx: Tx,
  id: string,
  leaseToken: string | null,
): Promise<UnfinishedRecording | null> {
  const [row] = await tx.query<UnfinishedRecording>(
    `SELECT duration_ms AS "durationMs", rerun, created_at AS "createdAt" FROM recordings
     WHERE id = $1 AND ${IS_UNFINISHED}
       AND CASE WHEN $2::uuid IS NULL THEN lease_until < now() ELSE lease_token = $2 END FOR UPDATE`,
    [id, leaseToken],
  );
  return row ?? null;
}

/** Sets the length of a recording that `lockUnfinished` has locked. */
export async function updateDuration(tx: Tx, id: string, durationMs: number): Promise<Recording> {
  return await updateLocked(tx, id, 'duration_ms = $2', [durationMs]);
}

/** Updates a recording that `lockUnfinished` has locked. */
export async function updateToTerminal(
  tx: Tx,
  id: string,
  {
    status,
    features,
    failureReason,
    durationMs,
  }: Pick<Recording, 'status' | 'features' | 'failureReason' | 'durationMs'>,
): Promise<Recording> {
  return await updateLocked(
    tx,
    id,
    `status = $2, features = $3, failure_reason = $4, duration_ms = $5,
     run = run + CASE WHEN rerun IS NULL THEN 0 ELSE 1 END, rerun = NULL, rerun_at = NULL,
     lease_token = NULL, lease_until = NULL, processed_at = now(), updated_at = now()`,
    [status, features && JSON.stringify(features), failureReason, durationMs],
  );
}

/** Ends a rerun that failed: the recording stays as it was. */
export async function endFailedRerun(tx: Tx, id: string): Promise<Recording> {
  const ended = 'run = run + 1, rerun = NULL, rerun_at = NULL, lease_token = NULL, lease_until = NULL';
  return await updateLocked(tx, id, ended, []);
}

/** SQL, because it returns the row as Postgres wrote it. @param set of the UPDATE; $1 is the id */
async function updateLocked(tx: Tx, id: string, set: string, parameters: readonly unknown[]): Promise<Recording> {
  const [recording] = await tx.query<Recording>(`UPDATE recordings r SET ${set} WHERE id = $1 RETURNING ${COLUMNS}`, [
    id,
    ...parameters,
  ]);
  if (!recording) throw new Error(`recording ${id} is locked but not found`);
  return recording;
}
