import type { SqlRunner } from '../../platform/database/database.service.js';
import { fromDay, toPage, untilDay } from '../../platform/database/statement-parts.js';
import type { PageResult } from '../../platform/http/page.js';
import { LISTED_COLUMNS, type ListedRecording } from './recording-page.queries.js';
import type { ListRecordingsQuery } from './recordings.dto.js';

/**
 * A page of the recordings of an end user. They are counted and skipped in the index alone; only the page itself is read
 * from the table. SQL, because total and page come from one statement, and so from one snapshot.
 */
export async function selectPageOfUser(
  runner: SqlRunner,
  accountId: string,
  userId: string,
  query: ListRecordingsQuery,
): Promise<PageResult<ListedRecording>> {
  const { sql, parameters } = userPageStatement(accountId, userId, query);
  const rows = await runner.query<ListedRecording & { total: number }>(sql, parameters);
  return toPage(rows);
}

function userPageStatement(
  accountId: string,
  userId: string,
  { page, limit, status, date_from: from, date_to: to }: ListRecordingsQuery,
): { sql: string; parameters: unknown[] } {
  const parameters: unknown[] = [accountId, userId, limit, page * limit];
  const place = (value: unknown): string => `$${parameters.push(value)}`;
  const conditions = [
    'k.account_id = $1 AND k.user_id = $2',
    ...(status === undefined ? [] : [`k.status = ${place(status)}`]),
    ...(from === undefined ? [] : [fromDay('k.created_at', place(from))]),
    ...(to === undefined ? [] : [untilDay('k.created_at', place(to))]),
  ].join(' AND ');
  const sql = `
    WITH page AS MATERIALIZED (
      SELECT k.id, k.created_at FROM recordings k WHERE ${conditions}
      ORDER BY k.created_at DESC, k.id DESC LIMIT $3 OFFSET $4::bigint
    )
    SELECT total.total, ${LISTED_COLUMNS}
    FROM (SELECT count(*)::float8 AS total FROM recordings k WHERE ${conditions}) total
    LEFT JOIN (page JOIN recordings r ON r.id = page.id) ON true
    ORDER BY page.created_at DESC, page.id DESC`;
  return { sql, parameters };
}
