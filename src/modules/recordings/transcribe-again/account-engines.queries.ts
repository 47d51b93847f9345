import type { SqlRunner } from '../../../platform/database/database.service.js';

/** Names of the engines of an account, or null for those of the service. SQL, because the table belongs to another module. */
export async function selectEnginesOf(runner: SqlRunner, accountId: string): Promise<string[] | null> {
  const [row] = await runner.query<{ names: string[] | null }>(
    `SELECT CASE WHEN engines IS NOT NULL THEN
       ARRAY(SELECT DISTINCT each ->> 'name' FROM jsonb_array_elements(engines) AS each ORDER BY 1) END AS names
     FROM accounts WHERE id = $1`,
    [accountId],
  );
  return row?.names ?? null;
}
