import type { SqlRunner, Tx } from '../../../platform/database/database.service.js';
import { selectList, toPage } from '../../../platform/database/statement-parts.js';
import type { PageResult } from '../../../platform/http/page.js';
import { Recording, type RecordingStatus } from '../recording.entity.js';
import { type CreationRange, createdWithin, directionOf } from '../recording-page.queries.js';
import { byLength } from '../recordings-by-length.queries.js';
import type { LengthOrder, TimeOrder } from '../recordings.dto.js';
import type { SearchDocument } from './search.entities.js';
import type { TaggedRecording } from './search-terms.js';

/** Documents are found by their terms; the other conditions are checked on those. */
export interface DocumentFilter extends CreationRange {
  accountId: string;
  /** Text of a `tsquery`. */
  terms: string;
  /** Alternatives of patterns that must all be in the folded text, or not. Null when the terms are enough. */
  phrases: { pattern: string; isNegative: boolean }[][] | null;
  status?: RecordingStatus;
}

export interface Slice {
  limit: number;
  offset: number;
}

/** Matches that are counted, and that can be ordered by rank. */
export const MAX_COUNTED = 10_000;
/** Recordings that are searched in the order of the list, before all matches are sorted. */
const MAX_FIRST = 5000;

export type MatchedRecording = Recording & { text: string | null };

const COLUMNS = selectList(Recording, 'r');
const byTime = (order: TimeOrder, alias: string, id: string): string =>
  `${alias}.created_at ${directionOf(order)}, ${alias}.${id} ${directionOf(order)}`;

/**
 * For the statements of one search, which follow in the transaction. Without them Postgres, which knows little of how
 * frequent a term is, may read all documents instead of the matches. Compiling a statement takes longer than running it.
 */
export async function limitSearch(tx: Tx, timeoutMs: number): Promise<void> {
  await tx.query(
    `SELECT set_config('statement_timeout', $1, true), set_config('work_mem', '16MB', true),
       set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)`,
    [`${timeoutMs}`],
  );
}

/** Conditions on a document `s`, and their parameters. */
class Conditions {
  readonly parameters: unknown[] = [];
  private readonly parts: string[] = [];

  /** @param byIndex false where the index must not be used, because documents are read one by one. */
  constructor({ accountId, terms, phrases, status, ...range }: DocumentFilter, byIndex = true) {
    this.parts.push(`s.account_id = ${this.place(accountId)}::uuid`);
    const matches = `s.terms @@ ${this.place(terms)}::tsquery`;
    this.parts.push(byIndex ? matches : `(${matches}) IS TRUE`);
    this.parts.push(...createdWithin('s.created_at', range, (value) => this.place(value)));
    if (status !== undefined) {
      this.parts.push(`(SELECT r.status FROM recordings r WHERE r.id = s.recording_id) = ${this.place(status)}`);
    }
    if (phrases) this.parts.push(this.phrases(phrases));
  }

  place(value: unknown): string {
    return `$${this.parameters.push(value)}`;
  }

  get sql(): string {
    return this.parts.join(' AND ');
  }

  private phrases(alternatives: NonNullable<DocumentFilter['phrases']>): string {
    const conditions = alternatives.map((phrases) =>
      phrases.map(({ pattern, isNegative }) => {
        return `strpos(s.folded, ${this.place(pattern)}) ${isNegative ? '=' : '>'} 0`;
      }),
    );
    // Without a text nothing matches, not even the absence of a word.
    return `s.folded IS NOT NULL AND (${conditions.map((all) => `(${all.join(' AND ')})`).join(' OR ')})`;
  }
}

/** A statement and its parameters: for the functions below, and for an EXPLAIN. */
export interface Statement {
  sql: string;
  parameters: unknown[];
}

/** The slice of the matches in their order, and how many there are. @param counted the most that are read. */
export function matchesStatement(
  filter: DocumentFilter,
  { limit, offset }: Slice,
  counted: number | null,
  order: TimeOrder | LengthOrder,
): Statement {
  const conditions = new Conditions(filter);
  const isByLength = order === 'longest' || order === 'shortest';
  const inOrder = (alias: string): string =>
    isByLength ? byLength(order, alias, 'recording_id') : byTime(order, alias, 'recording_id');
  const length = ', (SELECT r.duration_ms FROM recordings r WHERE r.id = s.recording_id) AS duration_ms';
  const sql = `
    WITH hits AS MATERIALIZED (
      SELECT s.recording_id, s.created_at${isByLength ? length : ''} FROM search_documents s WHERE ${conditions.sql}
      ${counted === null ? '' : `LIMIT ${conditions.place(counted)}`}
    ), page AS MATERIALIZED (
      SELECT * FROM hits ORDER BY ${inOrder('hits')}
      LIMIT ${conditions.place(limit)} OFFSET ${conditions.place(offset)}
    )
    SELECT (SELECT count(*) FROM hits)::float8 AS total, ${COLUMNS}, s.text
    FROM (SELECT 1) always
    LEFT JOIN (page JOIN recordings r ON r.id = page.recording_id JOIN search_documents s ON s.recording_id = r.id) ON true
    ORDER BY ${inOrder('page')}`;
  return { sql, parameters: conditions.parameters };
}

/** The slice of the matches among the first recordings of the list, found by walking it. */
export function walkStatement(filter: DocumentFilter, { limit, offset }: Slice, order: TimeOrder): Statement {
  const { status } = filter;
  const { accountId, terms, phrases } = filter;
  const conditions = new Conditions({ accountId, terms, phrases }, false);
  const recordings = [
    'r.account_id = $1',
    ...(status === undefined ? [] : [`r.status = ${conditions.place(status)}`]),
    ...createdWithin('r.created_at', filter, (value) => conditions.place(value)),
  ];
  const sql = `
    SELECT ${COLUMNS}, s.text
    FROM (
      SELECT r.* FROM recordings r WHERE ${recordings.join(' AND ')}
      ORDER BY ${byTime(order, 'r', 'id')} LIMIT ${MAX_FIRST}
    ) r
    JOIN search_documents s ON s.recording_id = r.id AND ${conditions.sql}
    ORDER BY ${byTime(order, 'r', 'id')}
    LIMIT ${conditions.place(limit)} OFFSET ${conditions.place(offset)}`;
  return { sql, parameters: conditions.parameters };
}

/**
 * The slice of the newest 10,000 matches with the best first, and how many matches there are.
 * @param rank text of a `tsquery`: the words that count.
 */
export function bestStatement(filter: DocumentFilter, rank: string, { limit, offset }: Slice): Statement {
  const conditions = new Conditions(filter);
  // Divided by the logarithm of the length, so that long transcripts are not ahead for their length alone.
  const score = `ts_rank(s.terms, ${conditions.place(rank)}::tsquery, 1)`;
  const sql = `
    WITH hits AS MATERIALIZED (
      SELECT s.recording_id, s.created_at FROM search_documents s WHERE ${conditions.sql}
    ), newest AS MATERIALIZED (
      SELECT * FROM hits ORDER BY ${byTime('newest', 'hits', 'recording_id')} LIMIT ${MAX_COUNTED}
    ), page AS MATERIALIZED (
      SELECT newest.*, ${score} AS score
      FROM newest JOIN search_documents s ON s.recording_id = newest.recording_id
      ORDER BY score DESC, ${byTime('newest', 'newest', 'recording_id')}
      LIMIT ${conditions.place(limit)} OFFSET ${conditions.place(offset)}
    )
    SELECT (SELECT count(*) FROM hits)::float8 AS total, ${COLUMNS}, s.text
    FROM (SELECT 1) always
    LEFT JOIN (page JOIN recordings r ON r.id = page.recording_id JOIN search_documents s ON s.recording_id = r.id) ON true
    ORDER BY page.score DESC, ${byTime('newest', 'page', 'recording_id')}`;
  return { sql, parameters: conditions.parameters };
}

/** SQL, because TypeORM has no text search. */
export async function selectMatches(tx: Tx, { sql, parameters }: Statement): Promise<PageResult<MatchedRecording>> {
  return toPage(await tx.query<MatchedRecording & { total: number }>(sql, parameters));
}

/** SQL, because the recording's time comes with the same statement, and because of the conflict. */
export async function writeDocument(
  tx: Tx,
  recordingId: string,
  { terms, folded, text }: Pick<SearchDocument, 'terms' | 'folded' | 'text'>,
): Promise<void> {
  await tx.prepared(
    `INSERT INTO search_documents (recording_id, account_id, created_at, terms, folded, text)
     SELECT id, account_id, created_at, $2::tsvector, $3, $4 FROM recordings WHERE id = $1
     ON CONFLICT (recording_id) DO UPDATE SET terms = excluded.terms, folded = excluded.folded, text = excluded.text`,
    [recordingId, terms, folded, text],
  );
}

/** The first characters of the texts of these recordings. SQL as the statements beside it. @param length in characters */
export async function selectBeginnings(
  runner: SqlRunner,
  accountId: string,
  recordingIds: readonly string[],
  length: number,
): Promise<{ id: string; text: string }[]> {
  return await runner.prepared(
    `SELECT recording_id AS id, left(text, $3) AS text FROM search_documents
     WHERE recording_id = ANY($2) AND account_id = $1 AND text IS NOT NULL`,
    [accountId, recordingIds, length],
  );
}

/** Only one without a text. SQL as the statements beside it. */
export async function deleteTagDocument(tx: Tx, recordingId: string): Promise<void> {
  await tx.prepared('DELETE FROM search_documents WHERE recording_id = $1 AND text IS NULL', [recordingId]);
}

/** SQL, as `findRecordings` is. @returns null when the account has no such recording. */
export async function selectTagged(
  runner: SqlRunner,
  accountId: string,
  recordingId: string,
): Promise<TaggedRecording | null> {
  const [recording] = await runner.prepared<TaggedRecording>(
    `SELECT id, account_id AS "accountId", user_id AS "userId", custom_tags AS "customTags", title,
       speaker_names AS "speakerNames"
     FROM recordings WHERE id = $2 AND account_id = $1`,
    [accountId, recordingId],
  );
  return recording ?? null;
}
