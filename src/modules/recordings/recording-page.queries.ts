import type { SqlRunner } from '../../platform/database/database.service.js';
import { selectList } from '../../platform/database/entity-columns.js';
import type { PageResult } from '../../platform/http/page.js';
import { Recording } from './recording.entity.js';
import type { ListRecordingsQuery } from './recordings.dto.js';
import { COUNTERS_OF_ACCOUNT } from './usage-counters/usage-counters.queries.js';

const COLUMNS = selectList(Recording, 'r');

/**
 * One page of the recordings of account $1, newest first: $2 limit, $3 offset, $4 first day, $5 last day. The counters
 * of each day give the total (`days`) and the day in which the page begins (`start`). Only the index of that day is
 * walked, to the first recording of the page (`first`), and only the page itself is read from the table.
 */
const PAGE = `
  WITH days AS (
    SELECT day, sum(listed)::bigint AS listed,
      (sum(sum(listed)) OVER (ORDER BY day DESC) - sum(listed))::bigint AS later
    FROM ${COUNTERS_OF_ACCOUNT} AS counters
    WHERE day >= $4::date AND day <= $5::date
    GROUP BY day
  ), start AS (
    SELECT day, later FROM days WHERE later <= $3::bigint AND later + listed > $3::bigint
  ), first AS MATERIALIZED (
    SELECT r.created_at, r.id FROM recordings r
    WHERE r.account_id = $1
      AND r.created_at >= $4::date::timestamp AT TIME ZONE 'UTC'
      AND r.created_at < ((SELECT day FROM start) + 1)::timestamp AT TIME ZONE 'UTC'
    ORDER BY r.created_at DESC, r.id DESC
    LIMIT 1 OFFSET $3::bigint - (SELECT later FROM start)
  )
  SELECT total.total, page.* FROM (SELECT coalesce(sum(listed), 0)::float8 AS total FROM days) total
  LEFT JOIN LATERAL (
    SELECT ${COLUMNS} FROM recordings r
    WHERE r.account_id = $1
      AND r.created_at >= $4::date::timestamp AT TIME ZONE 'UTC'
      AND (r.created_at, r.id) <= ((SELECT created_at FROM first), (SELECT id FROM first))
    ORDER BY r.created_at DESC, r.id DESC
    LIMIT $2
  ) page ON true`;

/** The same for one status, $6: a statement of its own, because it walks another index. */
const PAGE_OF_STATUS = `
  WITH days AS (
    SELECT day, sum(listed)::bigint AS listed,
      (sum(sum(listed)) OVER (ORDER BY day DESC) - sum(listed))::bigint AS later
    FROM ${COUNTERS_OF_ACCOUNT} AS counters
    WHERE status = $6 AND day >= $4::date AND day <= $5::date
    GROUP BY day
  ), start AS (
    SELECT day, later FROM days WHERE later <= $3::bigint AND later + listed > $3::bigint
  ), first AS MATERIALIZED (
    SELECT r.created_at, r.id FROM recordings r
    WHERE r.account_id = $1 AND r.status = $6
      AND r.created_at >= $4::date::timestamp AT TIME ZONE 'UTC'
      AND r.created_at < ((SELECT day FROM start) + 1)::timestamp AT TIME ZONE 'UTC'
    ORDER BY r.created_at DESC, r.id DESC
    LIMIT 1 OFFSET $3::bigint - (SELECT later FROM start)
  )
  SELECT total.total, page.* FROM (SELECT coalesce(sum(listed), 0)::float8 AS total FROM days) total
  LEFT JOIN LATERAL (
    SELECT ${COLUMNS} FROM recordings r
    WHERE r.account_id = $1 AND r.status = $6
      AND r.created_at >= $4::date::timestamp AT TIME ZONE 'UTC'
      AND (r.created_at, r.id) <= ((SELECT created_at FROM first), (SELECT id FROM first))
    ORDER BY r.created_at DESC, r.id DESC
    LIMIT $2
  ) page ON true`;

/** The statement of a page and its parameters: for `selectRecordingPage`, and for an EXPLAIN. */
export function pageStatement(
  accountId: string,
  { page, limit, status, date_from: from, date_to: to }: ListRecordingsQuery,
): { sql: string; parameters: unknown[] } {
  const parameters = [accountId, limit, page * limit, from ?? '-infinity', to ?? 'infinity'];
  return status ? { sql: PAGE_OF_STATUS, parameters: [...parameters, status] } : { sql: PAGE, parameters };
}

/** SQL, because total and page come from one statement, and so from one snapshot. */
export async function selectRecordingPage(
  runner: SqlRunner,
  accountId: string,
  query: ListRecordingsQuery,
): Promise<PageResult<Recording>> {
  const { sql, parameters } = pageStatement(accountId, query);
  const rows = await runner.prepared<Recording & { total: number }>(sql, parameters);
  // An empty page still has a row, with the total.
  return { items: rows.filter((row) => row.id !== null), total: rows[0]?.total ?? 0 };
}
