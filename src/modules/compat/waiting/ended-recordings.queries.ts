import type { SqlRunner } from '../../../platform/database/database.service.js';

/** Those of the recordings that are still to be transcribed. SQL, because the table belongs to another module. */
export async function findProcessing(runner: SqlRunner, ids: readonly string[]): Promise<Set<string>> {
  const rows = await runner.prepared<{ id: string }>(
    `SELECT id FROM recordings WHERE id = ANY($1::uuid[]) AND status = 'processing'`,
    [ids],
  );
  return new Set(rows.map(({ id }) => id));
}
