import type { SqlRunner, Tx } from '../../../platform/database/database.service.js';
import type { InsertExpressions, InsertParts } from '../../../platform/database/statement-parts.js';
import type { Recording } from '../recording.entity.js';

type RecordingKey = Pick<Recording, 'accountId' | 'id'>;

/** The days of a policy are days of 24 hours from the upload on. */
const hoursOf = (column: string): string => `make_interval(hours => 24 * policy.${column})`;

type ValueOf = InsertParts<Recording>['valueOf'];
const dueOf = (valueOf: ValueOf, property: 'audioDueAt' | 'textDueAt', column: string): string =>
  `coalesce(${valueOf(property)}::timestamptz, ${valueOf('createdAt')}::timestamptz + ${hoursOf(column)})`;
const textDue = (valueOf: ValueOf): string => dueOf(valueOf, 'textDueAt', 'retain_text_days');

/**
 * What an upload does not say itself is as its account says: the row `policy`. Part of the statement that inserts the
 * recording, so that it takes no other. The audio goes with the text at the latest.
 */
export const POLICY_OF_UPLOAD: InsertExpressions<Recording> = {
  audioDueAt: (valueOf) => `least(${dueOf(valueOf, 'audioDueAt', 'retain_audio_days')}, ${textDue(valueOf)})`,
  textDueAt: textDue,
  deleteAudioAfter: (valueOf) => `coalesce(${valueOf('deleteAudioAfter')}::text, policy.delete_audio_after)`,
};

/**
 * When something of the recording `r` goes next, or null: its audio, or all of it. Statements use the text of the indexes
 * `recordings_due_idx` and `recordings_account_due_idx`, or they would read all recordings. Held by queries.e2e.ts.
 */
const DUE = `(CASE WHEN r.audio_deleted_at IS NOT NULL THEN r.text_due_at
  WHEN r.delete_audio_after = 'transcribed' AND r.status = 'transcribed' THEN r.processed_at
  ELSE coalesce(r.audio_due_at, r.text_due_at) END)`;

/** A recording of which something is due. */
export interface DueRecording {
  id: string;
  /** Whether all of it is, not only its audio. */
  isAll: boolean;
}

const SELECT_DUE = `
  SELECT r.id, coalesce(r.text_due_at <= now(), false) AS "isAll" FROM recordings r
  WHERE ${DUE} IS NOT NULL AND r.status <> 'processing' AND r.rerun IS NULL AND r.held_at IS NULL AND ${DUE} <= now()
  ORDER BY ${DUE} LIMIT $1 FOR UPDATE OF r SKIP LOCKED`;

/**
 * Locks up to `count` recordings of which something is due, the longest due first: none that is being transcribed, or is
 * on hold. One that another transaction has locked is left for the next round. SQL, because of the clock of the database.
 */
export async function lockDue(tx: Tx, count: number): Promise<DueRecording[]> {
  return await tx.prepared<DueRecording>(SELECT_DUE, [count]);
}

/**
 * Deletes the audio of recordings that `lockDue` has locked: it is on the list of objects to remove and no longer counted
 * when the transaction ends. SQL, because one statement does it all.
 */
export async function deleteAudio(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.prepared(
    `WITH gone AS (
       UPDATE recordings SET audio_deleted_at = now() WHERE id = ANY ($1::uuid[]) AND audio_deleted_at IS NULL RETURNING *),
     counted AS (
       INSERT INTO usage_counter_deltas
         (account_id, day, status, key_id, user_id, listed, accepted, duration_ms, bytes)
       SELECT account_id, (created_at AT TIME ZONE 'UTC')::date, status, key_id, user_id, 0, 0, 0, -sum(file_size_bytes)
       FROM gone GROUP BY 1, 2, 3, 4, 5),
     peaks AS (DELETE FROM waveforms w USING gone WHERE w.recording_id = gone.id)
     INSERT INTO object_removals (object_key, remove_after) SELECT object_key, now() FROM gone
     ON CONFLICT ON CONSTRAINT object_removals_pkey DO UPDATE SET remove_after = now()`,
    [ids],
  );
}

/** Why and since when nothing of a recording is deleted. */
export interface Hold {
  heldAt: Date;
  reason: string;
}

/** A further hold only changes the reason. SQL, because it returns the row. @returns null without such a recording */
export async function holdRecording(
  runner: SqlRunner,
  { accountId, id }: RecordingKey,
  reason: string,
): Promise<Hold | null> {
  const [hold] = await runner.query<Hold>(
    `UPDATE recordings SET held_at = coalesce(held_at, now()), hold_reason = $3 WHERE id = $2 AND account_id = $1
     RETURNING held_at AS "heldAt", hold_reason AS reason`,
    [accountId, id, reason],
  );
  return hold ?? null;
}

/** SQL as above. @returns null without such a recording */
export async function releaseHold(runner: SqlRunner, { accountId, id }: RecordingKey): Promise<object | null> {
  const [released] = await runner.query<object>(
    'UPDATE recordings SET held_at = NULL, hold_reason = NULL WHERE id = $2 AND account_id = $1 RETURNING 1',
    [accountId, id],
  );
  return released ?? null;
}

/** What is deleted next of one recording. */
export interface UpcomingDeletion {
  id: string;
  dueAt: Date;
  /** Microseconds since 1970, because a Date has only milliseconds. */
  dueMicros: string;
  isAll: boolean;
  isHeld: boolean;
}

/** Where a page begins: behind this recording. */
export type DeletionPosition = Pick<UpcomingDeletion, 'id' | 'dueMicros'>;

const UPCOMING = `
  SELECT r.id, ${DUE} AS "dueAt", (extract(epoch FROM ${DUE}) * 1000000)::bigint::text AS "dueMicros",
    coalesce(r.text_due_at <= ${DUE}, false) AS "isAll", r.held_at IS NOT NULL AS "isHeld"
  FROM recordings r
  WHERE r.account_id = $1 AND ${DUE} IS NOT NULL
    AND (${DUE}, r.id) > ('epoch'::timestamptz + $2::bigint * interval '1 microsecond', $3::uuid)
  ORDER BY ${DUE}, r.id LIMIT $4`;

/** The next deletions of an account in the order of their times. SQL, because of the index. */
export async function selectUpcoming(
  runner: SqlRunner,
  accountId: string,
  { id, dueMicros }: DeletionPosition,
  count: number,
): Promise<UpcomingDeletion[]> {
  return await runner.prepared<UpcomingDeletion>(UPCOMING, [accountId, dueMicros, id, count]);
}
