import { accountNotOnHold, isTestAccount } from '../../../access/accounts.queries.js';
import type { SqlRunner } from '../../../platform/database/database.service.js';
import type { HeldLease, LeasedTable } from '../../../platform/database/leases.queries.js';
import type { LiveAudioFormat } from '../live-recording.entity.js';
import type { LiveWord } from '../live-signals.js';

/** A transcriber's right to write the words of a live recording, until its lease ends. */
export interface LiveLease {
  recordingId: string;
  accountId: string;
  leaseToken: string;
  audioFormat: LiveAudioFormat;
  sampleRate: number | null;
  language: string | null;
  languages: string[] | null;
  vocabulary: string[] | null;
  accountVocabulary: string[];
  accountEngines: unknown;
  /** Of the utterances that are stored. */
  items: number;
  /** Where the last of them ends. */
  endMs: number;
}

export const LIVE_WORDS: LeasedTable = { table: 'live_recordings', token: 'lease_token', until: 'lease_until' };

/** An utterance whose text is final. Times in seconds from the start of the recording. */
export interface LiveFinal {
  item: number;
  start: number;
  end: number;
  text: string;
  words: LiveWord[];
}

/**
 * The account with the fewest sessions gets the next; what is still being recorded goes first. Test accounts have no
 * engine. SQL, because it locks, updates and reads at once, by the clock of the database.
 */
const CLAIM = `
  WITH busy AS MATERIALIZED (
    SELECT account_id, count(*) AS sessions FROM live_recordings
    WHERE words_ended_at IS NULL AND lease_until > now() GROUP BY account_id),
  picked AS MATERIALIZED (
    SELECT l.recording_id FROM live_recordings l LEFT JOIN busy ON busy.account_id = l.account_id
    WHERE l.words_ended_at IS NULL AND (l.lease_until IS NULL OR l.lease_until < now())
      AND ${accountNotOnHold('l.account_id')} AND NOT ${isTestAccount('l.account_id')}
    ORDER BY coalesce(busy.sessions, 0), l.ended_at IS NOT NULL, l.recording_id
    LIMIT 1 FOR UPDATE OF l SKIP LOCKED),
  claimed AS (
    UPDATE live_recordings l SET lease_token = $1, lease_until = clock_timestamp() + make_interval(secs => $2)
    FROM picked WHERE l.recording_id = picked.recording_id
    RETURNING l.*)
  SELECT c.recording_id AS "recordingId", c.account_id AS "accountId", c.lease_token AS "leaseToken",
    c.audio_format AS "audioFormat", c.sample_rate AS "sampleRate", r.language, r.languages, r.vocabulary,
    a.vocabulary AS "accountVocabulary", a.engines AS "accountEngines"
  FROM claimed c JOIN recordings r ON r.id = c.recording_id JOIN accounts a ON a.id = c.account_id`;

/** @returns null when none is due. */
export async function claimLiveWords(
  runner: SqlRunner,
  leaseToken: string,
  leaseSeconds: number,
): Promise<LiveLease | null> {
  const [lease] = await runner.prepared<Omit<LiveLease, 'items' | 'endMs'>>(CLAIM, [leaseToken, leaseSeconds]);
  if (!lease) return null;
  // Another statement, so that it sees what the lease before has stored.
  const [last] = await runner.query<Pick<LiveLease, 'items' | 'endMs'>>(
    `SELECT item + 1 AS items, end_ms AS "endMs" FROM live_words WHERE recording_id = $1 ORDER BY item DESC LIMIT 1`,
    [lease.recordingId],
  );
  return { ...lease, items: last?.items ?? 0, endMs: last?.endMs ?? 0 };
}

/**
 * Stores the next utterance, under a lock of the row with the lease, so that the next lease sees it.
 * @returns false when the lease is lost; then nothing is stored.
 */
export async function insertLiveFinal(runner: SqlRunner, held: HeldLease, final: LiveFinal): Promise<boolean> {
  const { item, start, end, text, words } = final;
  const rows = await runner.prepared(
    `WITH held AS (
       SELECT recording_id FROM live_recordings WHERE recording_id = $1 AND lease_token = $2 FOR NO KEY UPDATE)
     INSERT INTO live_words (recording_id, item, start_ms, end_ms, text, words)
     SELECT recording_id, $3, $4, $5, $6, $7 FROM held RETURNING 1`,
    [
      held.recordingId,
      held.leaseToken,
      item,
      Math.round(start * 1000),
      Math.round(end * 1000),
      text,
      JSON.stringify(words),
    ],
  );
  return rows.length > 0;
}

/** Notes why words are missing; others follow. @returns whether that is new, and the lease still held. */
export async function noteLiveProblem(
  runner: SqlRunner,
  { recordingId, leaseToken }: HeldLease,
  problem: string,
): Promise<boolean> {
  const rows = await runner.query(
    `UPDATE live_recordings SET words_problem = $3
     WHERE recording_id = $1 AND lease_token = $2 AND words_problem IS DISTINCT FROM $3 RETURNING 1`,
    [recordingId, leaseToken, problem],
  );
  return rows.length > 0;
}

/**
 * No words follow. SQL, because of the clock of the database.
 * @param problem why there are none, for the client; null: as it was noted. @returns as `insertLiveFinal`.
 */
export async function endLiveWords(
  runner: SqlRunner,
  { recordingId, leaseToken }: HeldLease,
  problem: string | null,
): Promise<boolean> {
  const rows = await runner.query(
    `UPDATE live_recordings SET words_ended_at = now(), words_problem = coalesce($3, words_problem),
       lease_token = NULL, lease_until = NULL
     WHERE recording_id = $1 AND lease_token = $2 RETURNING 1`,
    [recordingId, leaseToken, problem],
  );
  return rows.length > 0;
}

/** What a reader sees of the words of a live recording. */
export interface StoredWords {
  /** The utterances asked for. */
  finals: LiveFinal[];
  /** No more follow. So it is when the recording has its file. */
  ended: boolean;
  problem: string | null;
}

/** @param fromItem the first utterance that is wanted */
export async function selectLiveWords(runner: SqlRunner, recordingId: string, fromItem: number): Promise<StoredWords> {
  type Row = { ended: boolean; problem: string | null } & (
    | { item: null }
    | { item: number; startMs: number; endMs: number; text: string; words: string }
  );
  const rows = await runner.prepared<Row>(
    `SELECT l.words_ended_at IS NOT NULL AS ended, l.words_problem AS problem, w.item, w.start_ms AS "startMs",
       w.end_ms AS "endMs", w.text, w.words
     FROM live_recordings l LEFT JOIN live_words w ON w.recording_id = l.recording_id AND w.item >= $2
     WHERE l.recording_id = $1 ORDER BY w.item`,
    [recordingId, fromItem],
  );
  const [first] = rows;
  const finals = rows.flatMap((row) =>
    row.item === null
      ? []
      : {
          item: row.item,
          start: row.startMs / 1000,
          end: row.endMs / 1000,
          text: row.text,
          words: JSON.parse(row.words) as LiveWord[],
        },
  );
  return { finals, ended: first?.ended ?? true, problem: first?.problem ?? null };
}
