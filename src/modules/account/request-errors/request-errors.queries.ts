import type { SqlRunner } from '../../../platform/database/database.service.js';
import type { RequestError } from './request-error.entity.js';

/** Request ids that are kept of each kind of error. */
export const MAX_REQUEST_IDS = 5;

/**
 * Adds groups to those of their days. Accounts that are gone are left out. Rows are locked in one order, so that two
 * processes that add at the same time cannot deadlock. SQL, because it adds to the rows that are there.
 * @returns the accounts that have a new group.
 */
export async function addRequestErrors(runner: SqlRunner, groups: readonly RequestError[]): Promise<string[]> {
  const rows = await runner.query<{ accountId: string }>(
    `WITH added AS (
       SELECT * FROM jsonb_to_recordset($1::jsonb) AS g ("accountId" uuid, day date, operation text, status integer,
         code text, field text, type text, count bigint, "firstAt" timestamptz, "lastAt" timestamptz, message text,
         "requestIds" text[])),
     present AS MATERIALIZED (
       SELECT id FROM accounts WHERE id IN (SELECT "accountId" FROM added) ORDER BY id FOR KEY SHARE),
     written AS (
       INSERT INTO request_errors AS e
         (account_id, day, operation, status, code, field, type, count, first_at, last_at, message, request_ids)
       SELECT "accountId", day, operation, status, code, field, type, count, "firstAt", "lastAt", message, "requestIds"
       FROM added JOIN present ON present.id = added."accountId" ORDER BY 1, 2, 3, 4, 5, 6
       ON CONFLICT ON CONSTRAINT request_errors_pkey DO UPDATE SET
         count = e.count + excluded.count,
         first_at = least(e.first_at, excluded.first_at),
         last_at = greatest(e.last_at, excluded.last_at),
         message = CASE WHEN excluded.last_at >= e.last_at THEN excluded.message ELSE e.message END,
         request_ids = (CASE WHEN excluded.last_at >= e.last_at THEN excluded.request_ids || e.request_ids
           ELSE e.request_ids || excluded.request_ids END)[1:${MAX_REQUEST_IDS}]
       RETURNING account_id, xmax = 0 AS is_new)
     SELECT DISTINCT account_id AS "accountId" FROM written WHERE is_new`,
    [JSON.stringify(groups)],
  );
  return rows.map(({ accountId }) => accountId);
}

/** Deletes the groups of each day that were seen the longest time ago. SQL, because of the rank. */
export async function trimRequestErrors(
  runner: SqlRunner,
  accountIds: readonly string[],
  groupsPerDay: number,
): Promise<void> {
  await runner.query(
    `DELETE FROM request_errors WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM (
         SELECT ctid, row_number() OVER (PARTITION BY account_id, day ORDER BY last_at DESC) AS rank
         FROM request_errors WHERE account_id = ANY ($1)) AS ranked
       WHERE rank > $2))`,
    [accountIds, groupsPerDay],
  );
}

export type RequestErrorGroup = Omit<RequestError, 'accountId' | 'day'>;

/** Those of the last days (UTC), the present one included, the last seen first. SQL, because days are added up. */
export async function selectRequestErrors(
  runner: SqlRunner,
  accountId: string,
  { days, limit }: { days: number; limit: number },
): Promise<RequestErrorGroup[]> {
  return await runner.query<RequestErrorGroup>(
    `SELECT operation, status, code, field, max(type) AS type, sum(count)::float8 AS count, min(first_at) AS "firstAt",
       max(last_at) AS "lastAt", (array_agg(message ORDER BY day DESC))[1] AS message,
       (string_to_array(string_agg(array_to_string(request_ids, ','), ',' ORDER BY day DESC), ','))[1:${MAX_REQUEST_IDS}]
         AS "requestIds"
     FROM request_errors
     WHERE account_id = $1 AND day > (now() AT TIME ZONE 'UTC')::date - $2::int
     GROUP BY operation, status, code, field
     ORDER BY max(last_at) DESC, operation, status, code, field LIMIT $3`,
    [accountId, days, limit],
  );
}

/** SQL, because the clock of the database decides, and because of LIMIT. @returns how many, at most `count`. */
export async function deleteOldRequestErrors(runner: SqlRunner, keptDays: number, count: number): Promise<number> {
  const rows = await runner.query(
    `DELETE FROM request_errors WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM request_errors WHERE day < (now() AT TIME ZONE 'UTC')::date - $1::int LIMIT $2)) RETURNING 1`,
    [keptDays, count],
  );
  return rows.length;
}
