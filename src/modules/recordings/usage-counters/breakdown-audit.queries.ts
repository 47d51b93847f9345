import type { SqlRunner } from '../../../platform/database/database.service.js';
import { BREAKDOWN_FIGURES, KEPT_SINCE } from './breakdown-columns.js';
import type { UsageDimension } from './usage-breakdown.entity.js';
import { BREAKDOWNS_OF_ACCOUNT } from './usage-breakdown.queries.js';
import { COUNTERS_OF_ACCOUNT } from './usage-counters.queries.js';

/** What the counters of a key or an end user say, and what they must be. */
export interface BreakdownDifference {
  /** `YYYY-MM-DD` */
  day: string;
  dimension: UsageDimension;
  /** Empty for recordings of no key, or of no end user. */
  value: string;
  figure: (typeof BREAKDOWN_FIGURES)[number];
  counted: number;
  actual: number;
}

const each = (text: (figure: string) => string): string => BREAKDOWN_FIGURES.map(text).join(', ');

/** Figures of which deleted recordings are a part. */
const LEAST_KNOWN = BREAKDOWN_FIGURES.filter((figure) => figure !== 'bytes');

/**
 * Of account $1, in one snapshot. The rows are the least that the figures of a key or an end user must be, because
 * recordings that were deleted are a part of all but the bytes. What no key and no end user has is the rest of the
 * account's counters, so that all of them together are the account's.
 */
const DIFFERENCES = `
  counted AS (
    SELECT dimension, value, day, ${each((figure) => `sum(${figure}) AS ${figure}`)}
    FROM ${BREAKDOWNS_OF_ACCOUNT} AS counters WHERE day >= ${KEPT_SINCE} GROUP BY 1, 2, 3),
  there AS (
    SELECT broken.dimension, broken.value COLLATE "C" AS value, (r.created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS accepted,
      count(*) FILTER (WHERE r.status = 'transcribed') AS transcribed,
      count(*) FILTER (WHERE r.status = 'failed') AS failed,
      sum(r.duration_ms) AS duration_ms, sum(r.file_size_bytes) AS bytes
    FROM recordings r CROSS JOIN LATERAL
      (VALUES ('key', r.key_id::text), ('user', r.user_id)) AS broken (dimension, value)
    WHERE r.account_id = $1 AND broken.value IS NOT NULL AND (r.created_at AT TIME ZONE 'UTC')::date >= ${KEPT_SINCE}
    GROUP BY 1, 2, 3),
  named AS (
    SELECT dimension, value, day, coalesce(t.bytes, 0) AS bytes,
      ${LEAST_KNOWN.map((figure) => `greatest(c.${figure}, t.${figure}) AS ${figure}`).join(', ')}
    FROM (SELECT * FROM counted WHERE value <> '') c FULL JOIN there t USING (dimension, value, day)),
  totals AS (
    SELECT day, ${each((figure) => `sum(${figure}) AS ${figure}`)}
    FROM ${COUNTERS_OF_ACCOUNT} AS counters WHERE day >= ${KEPT_SINCE} GROUP BY 1),
  expected AS (
    SELECT dimension, value, day, ${each((figure) => figure)} FROM named
    UNION ALL
    SELECT dimension, '', day, ${each((figure) => `sum(${figure})`)} FROM (
      SELECT d.dimension, t.day, ${each((figure) => `t.${figure}`)}
      FROM totals t CROSS JOIN (VALUES ('key'), ('user')) AS d (dimension)
      UNION ALL SELECT dimension, day, ${each((figure) => `-${figure}`)} FROM named) rest
    GROUP BY 1, 3),
  figures AS (
    SELECT dimension, value, day, f.figure, f.counted, 0::numeric AS actual
    FROM counted CROSS JOIN LATERAL (VALUES ${each((figure) => `('${figure}', ${figure})`)}) AS f (figure, counted)
    UNION ALL
    SELECT dimension, value, day, f.figure, 0, f.actual
    FROM expected CROSS JOIN LATERAL (VALUES ${each((figure) => `('${figure}', ${figure})`)}) AS f (figure, actual)),
  differences AS (
    SELECT dimension, value, day, figure, sum(counted) AS counted, sum(actual) AS actual FROM figures
    GROUP BY 1, 2, 3, 4 HAVING sum(counted) <> sum(actual))`;

/** SQL, because counters and rows are compared in one snapshot, so that uploads can go on. */
export async function selectBreakdownDifferences(runner: SqlRunner, accountId: string): Promise<BreakdownDifference[]> {
  return await runner.query<BreakdownDifference>(
    `WITH ${DIFFERENCES}
     SELECT day::text, dimension, value, figure, counted::float8, actual::float8 FROM differences
     ORDER BY day, dimension, value, figure`,
    [accountId],
  );
}

/**
 * Adds the differences to the figures. SQL, because they are read and corrected in one snapshot. Deltas that are moved
 * meanwhile change nothing of it, because a correction is added too.
 * @returns the days that were corrected.
 */
export async function correctBreakdowns(runner: SqlRunner, accountId: string): Promise<{ day: string }[]> {
  return await runner.query<{ day: string }>(
    `WITH ${DIFFERENCES}
     INSERT INTO usage_breakdowns AS b (account_id, dimension, value, day, ${each((figure) => figure)})
     SELECT $1, dimension, value, day,
       ${each((figure) => `coalesce(sum(actual - counted) FILTER (WHERE figure = '${figure}'), 0)`)}
     FROM differences GROUP BY dimension, value, day
     ON CONFLICT ON CONSTRAINT usage_breakdowns_pkey DO UPDATE SET
       ${each((figure) => `${figure} = b.${figure} + excluded.${figure}`)}
     RETURNING day::text`,
    [accountId],
  );
}
