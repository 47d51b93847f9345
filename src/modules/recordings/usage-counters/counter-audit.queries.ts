import type { SqlRunner } from '../../../platform/database/database.service.js';
import { countersOf, FIGURE_COLUMNS } from './usage-counters.queries.js';

/** What the counters of one account and UTC day say, and what the rows say. */
export interface CounterDifference {
  accountId: string;
  /** `YYYY-MM-DD` */
  day: string;
  /** Status of the recordings that are counted; null where one figure covers all of them. */
  status: string | null;
  figure: 'listed' | 'bytes' | 'queued_ms' | 'accepted' | 'duration_ms' | 'transcribed' | 'failed';
  counted: number;
  actual: number;
}

/**
 * Rows minus counters of account $1, in one snapshot, by day and status. Totals depend on the status, the other figures
 * only on the day: they stand under `processing`, as an upload writes them. Of the others
 * recordings that were deleted are a part, and no row tells of them: the rows are only the least that these must be.
 */
const DIFFERENCES = `
  counted AS (
    SELECT day, status, listed, accepted, duration_ms, bytes, queued_ms, transcribed, failed
    FROM ${countersOf('$1')} AS counters),
  there AS (
    SELECT (created_at AT TIME ZONE 'UTC')::date AS day, status, count(*) AS listed, sum(duration_ms) AS duration_ms,
      sum(file_size_bytes) AS bytes, sum(duration_ms) FILTER (WHERE status = 'processing' OR rerun = 'requested') AS queued_ms,
      count(*) FILTER (WHERE status = 'transcribed') AS transcribed, count(*) FILTER (WHERE status = 'failed') AS failed
    FROM recordings WHERE account_id = $1 GROUP BY 1, 2),
  figures AS (
    SELECT day, status, 'listed' AS figure, listed AS counted, 0 AS actual FROM counted
    UNION ALL SELECT day, status, 'listed', 0, listed FROM there
    UNION ALL SELECT day, NULL, f.figure, f.counted, 0 FROM counted CROSS JOIN LATERAL (VALUES
      ('bytes', bytes), ('queued_ms', queued_ms), ('accepted', accepted), ('duration_ms', duration_ms),
      ('transcribed', transcribed), ('failed', failed)
    ) AS f (figure, counted)
    UNION ALL SELECT day, NULL, f.figure, 0, f.actual FROM there CROSS JOIN LATERAL (VALUES
      ('bytes', bytes), ('queued_ms', coalesce(queued_ms, 0)), ('accepted', listed), ('duration_ms', duration_ms),
      ('transcribed', transcribed), ('failed', failed)
    ) AS f (figure, actual)),
  differences AS (
    SELECT day, status, figure, sum(counted) AS counted, sum(actual) AS actual FROM figures GROUP BY 1, 2, 3
    HAVING CASE WHEN figure IN ('listed', 'bytes', 'queued_ms') THEN sum(counted) <> sum(actual)
      ELSE sum(counted) < sum(actual) END)`;

/** SQL, because counters and rows are compared in one snapshot, so that uploads can go on. */
export async function selectDifferences(runner: SqlRunner, accountId: string): Promise<CounterDifference[]> {
  return await runner.query<CounterDifference>(
    `WITH ${DIFFERENCES}
     SELECT $1::uuid AS "accountId", day::text, status, figure, counted::float8, actual::float8 FROM differences
     ORDER BY day, figure, status`,
    [accountId],
  );
}

/**
 * Adds a delta for each difference. SQL, because the figures are read and corrected in one snapshot: whatever commits
 * meanwhile brings its own delta, so the result is exact. Two corrections at once would both be added.
 * @returns the days that were corrected.
 */
export async function insertCorrections(runner: SqlRunner, accountId: string): Promise<{ day: string }[]> {
  return await runner.query<{ day: string }>(
    `WITH ${DIFFERENCES},
     corrections AS (
       SELECT day, coalesce(status, 'processing') AS status, figure, actual - counted AS missing FROM differences)
     INSERT INTO usage_counter_deltas (account_id, day, status, ${FIGURE_COLUMNS.join(', ')})
     SELECT $1, day, status, ${FIGURE_COLUMNS.map(
       (figure) => `coalesce(sum(missing) FILTER (WHERE figure = '${figure}'), 0)`,
     ).join(', ')}
     FROM corrections GROUP BY day, status RETURNING day::text`,
    [accountId],
  );
}
