import type { SqlRunner } from '../../platform/database/database.service.js';
import { toPage } from '../../platform/database/statement-parts.js';
import type { PageResult } from '../../platform/http/page.js';
import { RECORDING_STATUSES } from './recording.entity.js';
import {
  createdWithin,
  indexConditions,
  isCountedByDay,
  LISTED_COLUMNS,
  type ListedRecording,
} from './recording-page.queries.js';
import { type LengthOrder, type ListRecordingsQuery, MAX_BY_LENGTH, tooManyForLength } from './recordings.dto.js';
import { COUNTERS_OF_ACCOUNT } from './usage-counters/usage-counters.queries.js';

/** Entries of the index of lengths that a page may look at, of each status. */
const MAX_WALKED = 100_000;

/** `shortest` is `longest` from its other end, so that one index does for both. @param id the name of its column */
export function byLength(order: LengthOrder, alias: string, id = 'id'): string {
  const direction = order === 'longest' ? 'DESC' : 'ASC';
  return [`${alias}.duration_ms`, `${alias}.created_at`, `${alias}.${id}`]
    .map((column) => `${column} ${direction}`)
    .join(', ');
}

/**
 * A page by length, of the first 10,000. Up to 10,000 matches of a filter are all read and sorted. Of more, those at the
 * wanted end of all lengths are looked through.
 * @throws InvalidRequestError when too few of those match, or an end user has too many.
 */
export async function selectPageByLength(
  runner: SqlRunner,
  accountId: string,
  query: ListRecordingsQuery,
  order: LengthOrder,
  walked = MAX_WALKED,
): Promise<PageResult<ListedRecording>> {
  const isFiltered = query.user_id !== undefined || createdWithin('', query, () => '').length > 0;
  const sorted = isFiltered ? await select(runner, sortedPageStatement(accountId, query, order)) : null;
  if (sorted && sorted.total <= MAX_BY_LENGTH) return sorted;
  // Not in the index of lengths.
  if (query.user_id !== undefined) throw tooManyForLength(order);
  const { items, total } = await select(runner, lengthPageStatement(accountId, query, order, walked));
  const offset = query.page * query.limit;
  if (items.length < Math.min(query.limit, total - offset)) throw tooManyForLength(order);
  return { items, total, hasMore: offset + query.limit < Math.min(total, MAX_BY_LENGTH) };
}

interface Statement {
  sql: string;
  parameters: unknown[];
}

async function select(runner: SqlRunner, { sql, parameters }: Statement) {
  return toPage(await runner.query<ListedRecording & { total: number }>(sql, parameters));
}

/**
 * The matches are found as in the list by time, and only their lengths are read from the table. Of too many, the total
 * is 10,001 and the page is empty.
 */
export function sortedPageStatement(accountId: string, query: ListRecordingsQuery, order: LengthOrder): Statement {
  const { page, limit } = query;
  const parameters: unknown[] = [accountId, limit, page * limit, MAX_BY_LENGTH + 1];
  const conditions = indexConditions(query, (value) => `$${parameters.push(value)}`);
  const sql = `
    WITH matches AS MATERIALIZED (
      SELECT k.id, k.created_at FROM recordings k WHERE ${conditions} LIMIT $4::int
    ), measured AS MATERIALIZED (
      SELECT m.id, m.created_at, (SELECT l.duration_ms FROM recordings l WHERE l.id = m.id) AS duration_ms
      FROM matches m WHERE (SELECT count(*) FROM matches) < $4::int
    ), page AS MATERIALIZED (
      SELECT m.* FROM measured m ORDER BY ${byLength(order, 'm')} LIMIT $2 OFFSET $3
    )
    SELECT total.total, ${LISTED_COLUMNS}
    FROM (SELECT count(*)::float8 AS total FROM matches) total
    LEFT JOIN (page JOIN recordings r ON r.id = page.id) ON true
    ORDER BY ${byLength(order, 'page')}`;
  return { sql, parameters };
}

/**
 * The index of lengths is walked, of each status in its order, and the days are compared in it.
 * @param walked the most entries of each status
 */
export function lengthPageStatement(
  accountId: string,
  query: ListRecordingsQuery,
  order: LengthOrder,
  walked: number,
): Statement {
  const { page, limit, status } = query;
  const parameters: unknown[] = [accountId, limit, page * limit, walked];
  const place = (value: unknown): string => `$${parameters.push(value)}`;
  const lengths = (status === undefined ? RECORDING_STATUSES : [status]).map(
    (each) => `
      (SELECT k.id, k.created_at, k.duration_ms FROM recordings k
       WHERE k.account_id = $1 AND k.status = '${each}' ORDER BY ${byLength(order, 'k')} LIMIT $4::int)`,
  );
  const within = createdWithin('k.created_at', query, place);
  const sql = `
    WITH page AS MATERIALIZED (
      SELECT k.* FROM (${lengths.join(' UNION ALL ')}) k ${within.length > 0 ? `WHERE ${within.join(' AND ')}` : ''}
      ORDER BY ${byLength(order, 'k')} LIMIT $2 OFFSET $3
    )
    SELECT total.total, ${LISTED_COLUMNS}
    FROM (${totalOf(query, place)}) total
    LEFT JOIN (page JOIN recordings r ON r.id = page.id) ON true
    ORDER BY ${byLength(order, 'page')}`;
  return { sql, parameters };
}

function totalOf(query: ListRecordingsQuery, place: (value: unknown) => string): string {
  if (!isCountedByDay(query)) {
    return `SELECT count(*)::float8 AS total FROM recordings k WHERE ${indexConditions(query, place)}`;
  }
  const { status, date_from: from, date_to: to } = query;
  const conditions = [
    ...(status === undefined ? [] : [`status = ${place(status)}`]),
    ...(from === undefined ? [] : [`day >= ${place(from)}::date`]),
    ...(to === undefined ? [] : [`day <= ${place(to)}::date`]),
  ];
  return `
    SELECT coalesce(sum(listed), 0)::float8 AS total FROM ${COUNTERS_OF_ACCOUNT} AS counters
    WHERE ${['true', ...conditions].join(' AND ')}`;
}
