import { type AuditedChange, joinedChange } from '../../access/audit-trail.js';
import type { SqlRunner, Tx } from '../../platform/database/database.service.js';
import { type InsertExpressions, insertParts, selectList } from '../../platform/database/statement-parts.js';
import type { JoinedWrite } from '../../platform/database/event-bus.js';
import { NO_SPEAKERS } from '../../platform/speakers.js';
import { claimReservedObject } from '../../platform/storage/object-removals.service.js';
import { Recording, recordingChange } from './recording.entity.js';
import { POLICY_OF_UPLOAD } from './retention/retention.queries.js';
import { tagTerms } from './search/search-terms.js';
import { COUNT_ACCEPTED } from './usage-counters/usage-counters.queries.js';

const COLUMNS = selectList(Recording, 'r');

export interface RecordingKey {
  accountId: string;
  id: string;
}

/**
 * The LIMIT, the number of keys, leaves nothing out. Without it Postgres expects 10 keys, takes a kept plan to be dearer
 * than a new one, and plans each time: 408 instead of 160 µs for one key. Held by queries.e2e.ts.
 */
const FIND = `
  SELECT asked.position::int, found.*
  FROM (
    SELECT * FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS keys (account_id, id, position) LIMIT $3
  ) asked
  CROSS JOIN LATERAL (
    SELECT ${COLUMNS} FROM recordings r WHERE r.id = asked.id AND r.account_id = asked.account_id LIMIT 1
  ) found`;

/** One answer for each key, in the order of the keys. SQL, because many keys are looked up by one statement. */
export async function findRecordings(runner: SqlRunner, keys: readonly RecordingKey[]): Promise<(Recording | null)[]> {
  const rows = await runner.prepared<Recording & { position: number }>(FIND, [
    keys.map(({ accountId }) => accountId),
    keys.map(({ id }) => id),
    keys.length,
  ]);
  const answers = Array<Recording | null>(keys.length).fill(null);
  for (const row of rows) answers[row.position - 1] = row;
  return answers;
}

/** As its account says if the upload says nothing of speakers; it may want none. The row `policy` is that of the account. */
const SPEAKERS_OF_UPLOAD: InsertExpressions<Recording> = {
  speakers: (valueOf) => `nullif(coalesce(${valueOf('speakers')}::smallint, policy.speakers), ${NO_SPEAKERS})`,
};

const INSERT = insertParts(Recording, { ...POLICY_OF_UPLOAD, ...SPEAKERS_OF_UPLOAD });
const insertAcceptedSql = (joined: readonly string[]): string => `
  WITH claimed AS (${claimReservedObject(INSERT.valueOf('objectKey'))}),
  accepted AS (INSERT INTO recordings (${INSERT.columns}) SELECT ${INSERT.values}
    FROM claimed LEFT JOIN accounts policy ON policy.id = ${INSERT.valueOf('accountId')} RETURNING *)
  ${joined.map((sql, i) => `, joined_${i} AS (${sql})`).join('')}
  ${COUNT_ACCEPTED}`;

const tagsToSearch = (terms: string): JoinedWrite => ({
  sql: (first) => `
    INSERT INTO search_documents (recording_id, account_id, created_at, terms)
    SELECT id, account_id, created_at, $${first}::tsvector FROM accepted`,
  parameters: [terms],
});

/**
 * Claims the reserved object, inserts the recording with its tags and counts it, with what listeners write. SQL, because
 * that is one round trip of the most frequent write, and nothing is inserted without the object.
 * @returns false when the reservation has expired; then nothing is written.
 */
export async function insertAccepted(tx: Tx, recording: Recording, writes: readonly JoinedWrite[]): Promise<boolean> {
  const tags = tagTerms(recording);
  const parameters = INSERT.parametersOf(recording);
  const joined: string[] = [];
  const uploaded = joinedChange('accepted', recordingChange(recording, 'recording.uploaded'));
  for (const write of [uploaded, ...writes, ...(tags === null ? [] : [tagsToSearch(tags)])]) {
    joined.push(write.sql(parameters.length + 1));
    parameters.push(...write.parameters);
  }
  const counted = await tx.prepared(insertAcceptedSql(joined), parameters);
  return counted.length > 0;
}

/** What a client asks for in a run. Null or absent: as before, and the engine as configured. */
export interface RunOptions {
  engine?: string | null;
  language?: string | null;
  /** In place of a language. */
  languages?: string[] | null;
  /** An empty list: none. */
  vocabulary?: string[] | null;
  /** As a number is stored; NO_SPEAKERS: none. */
  speakers?: number | null;
}

/** One language takes the place of several, and the other way round. */
const SET_SPOKEN = `language = CASE WHEN $6::text[] IS NULL THEN coalesce($4, language) END,
       languages = CASE WHEN $4::text IS NULL THEN coalesce($6, languages) END`;
const SET_SPEAKERS = `speakers = nullif(coalesce($7::smallint, speakers), ${NO_SPEAKERS})`;

/**
 * Opens a new run: one without a file has its link fetched first. SQL, because it returns the row.
 * @returns null unless the recording has failed, and has a file or a link, which was not deleted.
 */
export async function reopenFailed(
  tx: Tx,
  { accountId, id }: RecordingKey,
  { engine, language, languages, vocabulary, speakers }: RunOptions,
): Promise<Recording | null> {
  const [recording] = await tx.query<Recording>(
    `UPDATE recordings r SET status = 'processing', run = run + 1, attempt = 0, faults = 0,
       lease_until = CASE WHEN file_size_bytes = 0 THEN 'infinity'::timestamptz END,
       processed_at = NULL, features = NULL, failure_reason = NULL, updated_at = now(),
       requested_engine = $3, vocabulary = nullif(coalesce($5, vocabulary), '{}'), ${SET_SPOKEN}, ${SET_SPEAKERS}
     WHERE id = $2 AND account_id = $1 AND status = 'failed' AND audio_deleted_at IS NULL
       AND (file_size_bytes > 0 OR EXISTS (SELECT FROM recording_links l WHERE l.recording_id = r.id))
     RETURNING ${COLUMNS}`,
    [accountId, id, engine ?? null, language ?? null, vocabulary ?? null, languages ?? null, speakers ?? null],
  );
  return recording ?? null;
}

/**
 * Puts a transcribed recording into the queue of its account. One that waits in the background is moved there. SQL, as
 * above. @returns null unless it is transcribed, has its audio, and is not to be transcribed again already.
 */
export async function requestRerun(
  tx: Tx,
  { accountId, id }: RecordingKey,
  { engine, language, languages, vocabulary, speakers }: RunOptions,
): Promise<Recording | null> {
  const [recording] = await tx.query<Recording>(
    `UPDATE recordings r SET rerun = 'requested', rerun_at = now(), attempt = 0, faults = 0, lease_until = NULL,
       requested_engine = $3, vocabulary = nullif(coalesce($5, vocabulary), '{}'), ${SET_SPOKEN}, ${SET_SPEAKERS}
     WHERE id = $2 AND account_id = $1 AND status = 'transcribed' AND lease_token IS NULL
       AND rerun IS DISTINCT FROM 'requested' AND audio_deleted_at IS NULL RETURNING ${COLUMNS}`,
    [accountId, id, engine ?? null, language ?? null, vocabulary ?? null, languages ?? null, speakers ?? null],
  );
  return recording ?? null;
}

/**
 * Deletes recordings with their counts, and puts their objects on the list of those to remove. Rows are locked in the
 * order of an index, so that two such statements cannot deadlock. SQL, because one statement does it all.
 * @param ids a sub-select or list of ids for IN
 * @param user the end user from whose usage they are taken
 */
export const deletionSql = (ids: string, user: 'user_id' | 'NULL::text'): string => `
  WITH gone AS (DELETE FROM recordings WHERE id IN (${ids}) AND held_at IS NULL RETURNING *),
  counted AS (
    INSERT INTO usage_counter_deltas
      (account_id, day, status, key_id, user_id, listed, accepted, duration_ms, bytes, queued_ms)
    SELECT account_id, (created_at AT TIME ZONE 'UTC')::date, status, key_id, ${user}, -count(*), 0, 0,
      -coalesce(sum(file_size_bytes) FILTER (WHERE audio_deleted_at IS NULL), 0),
      -coalesce(sum(duration_ms) FILTER (WHERE status = 'processing' OR rerun = 'requested'), 0)
    FROM gone GROUP BY 1, 2, 3, 4, 5),
  removed AS (
    INSERT INTO object_removals (object_key, remove_after)
    SELECT object_key, now() FROM gone WHERE audio_deleted_at IS NULL
    ON CONFLICT ON CONSTRAINT object_removals_pkey DO UPDATE SET remove_after = now())
  SELECT ${COLUMNS} FROM gone r`;

const DELETE_ALL = deletionSql('SELECT unnest($1::uuid[])', 'user_id');

/** Those that the transaction has locked. */
export async function deleteRecordings(tx: Tx, ids: readonly string[]): Promise<Recording[]> {
  return await tx.prepared<Recording>(DELETE_ALL, [ids]);
}

/**
 * Locks the recording until the end of `tx`.
 * @param against `deletion`: other changes of it are not held up
 */
export async function lockRecording(
  tx: Tx,
  { accountId, id }: RecordingKey,
  against: 'deletion' | 'any change',
): Promise<Recording | null> {
  const strength = against === 'deletion' ? 'KEY SHARE' : 'UPDATE';
  const [recording] = await tx.prepared<Recording>(
    `SELECT ${COLUMNS} FROM recordings r WHERE id = $2 AND account_id = $1 FOR ${strength}`,
    [accountId, id],
  );
  return recording ?? null;
}

/** With the text that is searched, which has to be indexed anew after a change of what else is. */
export interface RelabelledRecording extends Recording {
  /** Null without one. */
  searchedText: string | null;
}

const SELECT_RELABELLED = `SELECT changed.*, (SELECT text FROM search_documents WHERE recording_id = changed.id) AS "searchedText"
  FROM changed`;

/** With its entry in the audit log. SQL, because that is one round trip. @returns null when the account has no such recording. */
export async function updateLabels(
  tx: Tx,
  { accountId, id }: RecordingKey,
  { title, customTags }: Pick<Recording, 'title' | 'customTags'>,
  change: AuditedChange,
): Promise<RelabelledRecording | null> {
  const recorded = joinedChange('changed', change);
  const [recording] = await tx.prepared<RelabelledRecording>(
    `WITH changed AS (
       UPDATE recordings r SET title = $3, custom_tags = $4, updated_at = now()
       WHERE id = $2 AND account_id = $1 RETURNING ${COLUMNS}),
     recorded AS (${recorded.sql(5)})
     ${SELECT_RELABELLED}`,
    [accountId, id, title, customTags, ...recorded.parameters],
  );
  return recording ?? null;
}

/** SQL, because it returns the row. @returns null when the account has no such recording. */
export async function updateSpeakerNames(
  tx: Tx,
  { accountId, id }: RecordingKey,
  speakerNames: Recording['speakerNames'],
): Promise<RelabelledRecording | null> {
  const [recording] = await tx.query<RelabelledRecording>(
    `WITH changed AS (
       UPDATE recordings r SET speaker_names = $3::jsonb, updated_at = now()
       WHERE id = $2 AND account_id = $1 RETURNING ${COLUMNS})
     ${SELECT_RELABELLED}`,
    [accountId, id, speakerNames && JSON.stringify(speakerNames)],
  );
  return recording ?? null;
}

/** SQL, because it returns the row. @returns null for one that is on hold, too. */
export async function deleteRecording(tx: Tx, { accountId, id }: RecordingKey): Promise<Recording | null> {
  const [recording] = await tx.query<Recording>(
    `DELETE FROM recordings r WHERE id = $2 AND account_id = $1 AND held_at IS NULL RETURNING ${COLUMNS}`,
    [accountId, id],
  );
  return recording ?? null;
}
