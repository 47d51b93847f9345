import { Injectable } from '@nestjs/common';
import { DatabaseService, type SqlRunner } from '../../../platform/database/database.service.js';
import { lockByName } from '../../../platform/database/locks.js';
import type { UsageDimension } from './usage-counters.entities.js';
import { BREAKDOWNS_OF_ACCOUNT } from './usage-breakdown.queries.js';
import { addTo, BREAKDOWN_FIGURES, COUNTERS_OF_ACCOUNT, FIGURE_COLUMNS, KEPT_SINCE } from './usage-counters.queries.js';

/** Compares the usage counters with the recordings, and corrects them, while the service goes on. */
@Injectable()
export class CounterAuditService {
  constructor(private readonly database: DatabaseService) {}

  async differences(accountId: string): Promise<CounterDifference[]> {
    return await selectDifferences(this.database, accountId);
  }

  /** Differences in the figures of API keys and end users. */
  async breakdownDifferences(accountId: string): Promise<BreakdownDifference[]> {
    return await selectBreakdownDifferences(this.database, accountId);
  }

  /** @returns how many days were corrected. */
  async rebuild(accountId: string): Promise<number> {
    return await this.database.transact(async (tx) => {
      await lockByName(tx, `rebuild counters:${accountId}`);
      const corrected = await insertCorrections(tx, accountId);
      // After the corrections above, which count for no key and no end user.
      const brokenDown = await correctBreakdowns(tx, accountId);
      return new Set([...corrected, ...brokenDown].map(({ day }) => day)).size;
    });
  }
}

/** What the counters of one account and UTC day say, and what the rows say. */
export interface CounterDifference {
  accountId: string;
  /** `YYYY-MM-DD` */
  day: string;
  /** Status of the recordings that are counted; null where one figure covers all of them. */
  status: string | null;
  figure: (typeof FIGURE_COLUMNS)[number];
  counted: number;
  actual: number;
}

/**
 * Rows minus counters of account $1, in one snapshot, by day and status. Totals depend on the status, the other figures
 * only on the day: they stand under `processing`, as an upload writes them. Deleted recordings are a part of those of
 * usage, and no row tells of them: the rows are only the least that these must be.
 */
const COUNTER_DIFFERENCES = `
  counted AS (
    SELECT * FROM ${COUNTERS_OF_ACCOUNT} AS counters),
  there AS (
    SELECT (created_at AT TIME ZONE 'UTC')::date AS day, status, count(*) AS listed, sum(duration_ms) AS duration_ms,
      coalesce(sum(file_size_bytes) FILTER (WHERE audio_deleted_at IS NULL), 0) AS bytes, sum(duration_ms) FILTER (WHERE status = 'processing' OR rerun = 'requested') AS queued_ms,
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
    `WITH ${COUNTER_DIFFERENCES}
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
    `WITH ${COUNTER_DIFFERENCES},
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
const BREAKDOWN_DIFFERENCES = `
  counted AS (
    SELECT dimension, value, day, ${each((figure) => `sum(${figure}) AS ${figure}`)}
    FROM ${BREAKDOWNS_OF_ACCOUNT} AS counters WHERE day >= ${KEPT_SINCE} GROUP BY 1, 2, 3),
  there AS (
    SELECT broken.dimension, broken.value COLLATE "C" AS value, (r.created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS accepted,
      count(*) FILTER (WHERE r.status = 'transcribed') AS transcribed,
      count(*) FILTER (WHERE r.status = 'failed') AS failed,
      sum(r.duration_ms) AS duration_ms,
      coalesce(sum(r.file_size_bytes) FILTER (WHERE r.audio_deleted_at IS NULL), 0) AS bytes
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
async function selectBreakdownDifferences(runner: SqlRunner, accountId: string): Promise<BreakdownDifference[]> {
  return await runner.query<BreakdownDifference>(
    `WITH ${BREAKDOWN_DIFFERENCES}
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
async function correctBreakdowns(runner: SqlRunner, accountId: string): Promise<{ day: string }[]> {
  return await runner.query<{ day: string }>(
    `WITH ${BREAKDOWN_DIFFERENCES},
     corrected AS (
       INSERT INTO usage_breakdowns AS b (account_id, dimension, value, day, ${each((figure) => figure)})
       SELECT $1, dimension, value, day,
         ${each((figure) => `coalesce(sum(actual - counted) FILTER (WHERE figure = '${figure}'), 0)`)}
       FROM differences GROUP BY dimension, value, day
       ON CONFLICT ON CONSTRAINT usage_breakdowns_pkey DO UPDATE SET
         ${addTo('b', BREAKDOWN_FIGURES)}
       RETURNING day)
     SELECT DISTINCT day::text FROM corrected`,
    [accountId],
  );
}
