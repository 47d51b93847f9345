import type { ListRecordingsQuery } from './recordings.dto.js';
import { COUNTERS_OF_ACCOUNT } from './usage-counters/usage-counters.js';

/**
 * The statement for one page of an account's recordings, newest first, and for the total; both come from one snapshot.
 * The counts that are kept for each day tell the total, and in which day the page begins: so neither has to be counted
 * through, and of that day what comes before the page is walked in the index alone. The text depends on which filters
 * are given, and on whether it is the first page, and on nothing else: each form is prepared and planned once.
 * @param columns of the recordings, as `r`
 */
export function pageStatement(
  columns: string,
  accountId: string,
  query: ListRecordingsQuery,
): { sql: string; parameters: unknown[] } {
  const { page, limit, status, date_from: from, date_to: to } = query;
  const parameters: unknown[] = [accountId, limit, page * limit];
  const given = (value: unknown): string => `$${parameters.push(value)}`;
  const counted: string[] = [];
  const walked: string[] = [];
  if (status) {
    const parameter = given(status);
    counted.push(`AND status = ${parameter}`);
    walked.push(`AND r.status = ${parameter}`);
  }
  if (from) {
    const parameter = given(from);
    counted.push(`AND day >= ${parameter}::date`);
    walked.push(`AND r.created_at >= ${parameter}::timestamp AT TIME ZONE 'UTC'`);
  }
  // The day in which the page begins stands in for it among the recordings: it is never later.
  if (to) counted.push(`AND day <= ${given(to)}::date`);
  const walk = (selected: string, begin: string): string => `
      SELECT ${selected} FROM recordings r WHERE r.account_id = $1 AND ${begin} ${walked.join(' ')}
      ORDER BY r.created_at DESC, r.id DESC`;
  const atItsDay = `r.created_at < ((SELECT day FROM start) + 1)::timestamp AT TIME ZONE 'UTC'`;
  const atItsFirst = `(r.created_at, r.id) <= ((SELECT created_at FROM first), (SELECT id FROM first))`;
  const first = `, first AS MATERIALIZED (${walk('r.created_at, r.id', atItsDay)}
      LIMIT 1 OFFSET $3::bigint - (SELECT later FROM start)
    )`;
  const sql = `
    WITH days AS (
      SELECT day, sum(listed)::bigint AS listed, (sum(sum(listed)) OVER (ORDER BY day DESC) - sum(listed))::bigint AS later
      FROM ${COUNTERS_OF_ACCOUNT} AS tallies WHERE true ${counted.join(' ')} GROUP BY day
    ), start AS (
      SELECT day, later FROM days WHERE later <= $3::bigint AND later + listed > $3::bigint
    )${page === 0 ? '' : first}
    SELECT total.total, found.* FROM (SELECT coalesce(sum(listed), 0)::float8 AS total FROM days) total
    LEFT JOIN LATERAL (${walk(columns, page === 0 ? atItsDay : atItsFirst)} LIMIT $2) found ON true`;
  return { sql, parameters };
}
