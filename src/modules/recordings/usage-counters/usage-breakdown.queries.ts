import type { SqlRunner, Tx } from '../../../platform/database/database.service.js';
import type { UsageDimension } from './usage-counters.entities.js';
import {
  addTo,
  BREAKDOWN_FIGURES,
  COUNTERS_OF_ACCOUNT,
  DIMENSIONS_OF_DELTA,
  KEPT_SINCE,
} from './usage-counters.queries.js';

const FIGURES = BREAKDOWN_FIGURES.join(', ');

/** Figures of recordings that were created in a period. */
export interface UsageItem {
  /** A day `YYYY-MM-DD`, the id of a key, or an end user; empty where there is none. */
  value: string;
  recordings: number;
  transcribed: number;
  failed: number;
  durationMs: number;
  bytes: number;
}

/** Days `YYYY-MM-DD`, both inclusive. */
export interface DayRange {
  from: string;
  to: string;
}

const SUMS = `coalesce(sum(accepted), 0)::float8 AS recordings, coalesce(sum(transcribed), 0)::float8 AS transcribed,
  coalesce(sum(failed), 0)::float8 AS failed, coalesce(sum(duration_ms), 0)::float8 AS "durationMs",
  coalesce(sum(bytes), 0)::float8 AS bytes`;

/** Every day, in order. SQL, because counters and deltas are added in one snapshot. */
export async function sumUsageByDay(
  runner: SqlRunner,
  accountId: string,
  { from, to }: DayRange,
): Promise<UsageItem[]> {
  return await runner.prepared<UsageItem>(
    `SELECT days.day::date::text AS value, ${SUMS}
     FROM generate_series($2::date, $3::date, interval '1 day') AS days (day)
     LEFT JOIN (SELECT * FROM ${COUNTERS_OF_ACCOUNT} AS counters WHERE day BETWEEN $2::date AND $3::date) c
       ON c.day = days.day::date
     GROUP BY days.day ORDER BY days.day`,
    [accountId, from, to],
  );
}

/** Those of account $1. */
const DELTAS_BROKEN_DOWN = `
  SELECT broken.dimension, broken.value COLLATE "C" AS value, d.day, ${BREAKDOWN_FIGURES.map((figure) => `d.${figure}`).join(', ')}
  FROM usage_counter_deltas d CROSS JOIN LATERAL ${DIMENSIONS_OF_DELTA} AS broken (dimension, value)
  WHERE d.account_id = $1`;

/** Figures of account $1 by dimension, value and day. */
export const BREAKDOWNS_OF_ACCOUNT = `(
  SELECT dimension, value, day, ${FIGURES} FROM usage_breakdowns WHERE account_id = $1
  UNION ALL ${DELTAS_BROKEN_DOWN})`;

const SUMMED = BREAKDOWN_FIGURES.map((figure) => `sum(${figure}) AS ${figure}`).join(', ');

/**
 * In the order of the values, which an index has: the cost follows the page, and not the number of end users. A value
 * that is only in the deltas belongs to the page if it is among the first, and then all of it was read. SQL,
 * because counters and deltas are added in one snapshot.
 * @param after only values behind this one; null from the first.
 */
export async function sumUsageByDimension(
  runner: SqlRunner,
  accountId: string,
  dimension: UsageDimension,
  { from, to, after, limit }: DayRange & { after: string | null; limit: number },
): Promise<UsageItem[]> {
  return await runner.prepared<UsageItem>(
    `WITH stored AS (
       SELECT value, ${SUMMED} FROM usage_breakdowns
       WHERE account_id = $1 AND dimension = $2 AND day BETWEEN $3::date AND $4::date AND (value > $5 OR $6)
       GROUP BY value ORDER BY value LIMIT $7),
     pending AS (
       SELECT value, ${FIGURES} FROM (${DELTAS_BROKEN_DOWN}) AS deltas
       WHERE dimension = $2 AND day BETWEEN $3::date AND $4::date AND (value > $5 OR $6))
     SELECT value, ${SUMS} FROM (SELECT * FROM stored UNION ALL SELECT * FROM pending) AS counters
     GROUP BY value ORDER BY value LIMIT $7`,
    [accountId, dimension, from, to, after ?? '', after === null, limit],
  );
}

/** SQL, because the clock of the database decides, and because of LIMIT. @returns how many, at most `count`. */
export async function deleteOldBreakdowns(runner: SqlRunner, count: number): Promise<number> {
  const rows = await runner.query(
    `DELETE FROM usage_breakdowns WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM usage_breakdowns WHERE day < ${KEPT_SINCE} LIMIT $1)) RETURNING 1`,
    [count],
  );
  return rows.length;
}

/**
 * Counts the figures of an end user for none (D46). In this order: when the deltas are free of the user, the process
 * that was adding them up has committed. SQL, because rows are moved in one statement.
 */
export async function forgetUserUsage(tx: Tx, accountId: string, userId: string): Promise<void> {
  await tx.query('UPDATE usage_counter_deltas SET user_id = NULL WHERE account_id = $1 AND user_id = $2', [
    accountId,
    userId,
  ]);
  await tx.query(
    `WITH gone AS (
       DELETE FROM usage_breakdowns WHERE account_id = $1 AND dimension = 'user' AND value = $2 RETURNING *)
     INSERT INTO usage_breakdowns AS b (account_id, dimension, value, day, ${FIGURES})
     SELECT account_id, dimension, '', day, ${FIGURES} FROM gone
     ON CONFLICT ON CONSTRAINT usage_breakdowns_pkey DO UPDATE SET
       ${addTo('b', BREAKDOWN_FIGURES)}`,
    [accountId, userId],
  );
}
