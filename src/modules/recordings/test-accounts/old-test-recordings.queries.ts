import type { SqlRunner } from '../../../platform/database/database.service.js';
import type { RecordingKey } from '../recordings.queries.js';

/** How long the recordings of a test account are kept (D80). */
const KEPT_DAYS = 7;

/** Those of test accounts that are past their time. SQL, because of the table of another module. */
export async function selectOldTestRecordings(runner: SqlRunner, count: number): Promise<RecordingKey[]> {
  return await runner.query<RecordingKey>(
    `SELECT old.account_id AS "accountId", old.id FROM accounts a CROSS JOIN LATERAL (
       SELECT account_id, id FROM recordings
       WHERE account_id = a.id AND created_at < now() - make_interval(days => ${KEPT_DAYS})
       ORDER BY created_at, id LIMIT $1) old
     WHERE a.test_of IS NOT NULL LIMIT $1`,
    [count],
  );
}
