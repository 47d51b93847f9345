import type { SqlRunner } from '../../platform/database/database.service.js';

/** An end user of whom everything until a time is erased: as Postgres writes it, because a Date has no microseconds. */
export interface Erasure {
  accountId: string;
  userId: string;
  until: string;
}

/** SQL, because the clock of the database decides. @returns the time of the request, up to which it erases */
export async function requestErasure(runner: SqlRunner, accountId: string, userId: string): Promise<string> {
  const [row] = await runner.query<{ until: string }>(
    `INSERT INTO user_erasures (account_id, user_id, requested_at) VALUES ($1, $2, clock_timestamp())
     ON CONFLICT (account_id, user_id) DO UPDATE SET requested_at = excluded.requested_at
     RETURNING requested_at::text AS until`,
    [accountId, userId],
  );
  return (row as { until: string }).until;
}

/** The oldest first. SQL, because of the time. */
export async function selectErasures(runner: SqlRunner, count: number): Promise<Erasure[]> {
  return await runner.query(
    `SELECT account_id AS "accountId", user_id AS "userId", requested_at::text AS until
     FROM user_erasures ORDER BY requested_at LIMIT $1`,
    [count],
  );
}

/** Unless it was requested again meanwhile. SQL, because of the time. */
export async function endErasure(runner: SqlRunner, { accountId, userId, until }: Erasure): Promise<void> {
  await runner.query(
    'DELETE FROM user_erasures WHERE account_id = $1 AND user_id = $2 AND requested_at = $3::timestamptz',
    [accountId, userId, until],
  );
}
