import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Which key made a recording was not stored before: all count for none. End users are known of the recordings that exist;
 * what was deleted counts for none. The counters without the deltas, because those are yet to be added to them; in one
 * statement, because they may be added meanwhile. Only the days that are kept.
 */
const BACKFILL = `
  WITH totals AS (
    SELECT account_id, day, sum(accepted) AS accepted, sum(transcribed) AS transcribed, sum(failed) AS failed,
      sum(duration_ms) AS duration_ms, sum(bytes) AS bytes
    FROM usage_counters WHERE day >= (now() AT TIME ZONE 'UTC')::date - 400 GROUP BY 1, 2),
  users AS (
    SELECT account_id, user_id, (created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS accepted,
      count(*) FILTER (WHERE status = 'transcribed') AS transcribed, count(*) FILTER (WHERE status = 'failed') AS failed,
      sum(duration_ms) AS duration_ms, sum(file_size_bytes) AS bytes
    FROM recordings
    WHERE user_id IS NOT NULL AND created_at >= ((now() AT TIME ZONE 'UTC')::date - 400)::timestamp AT TIME ZONE 'UTC'
    GROUP BY 1, 2, 3),
  figures AS (
    SELECT account_id, 'key' AS dimension, '' AS value, day, accepted, transcribed, failed, duration_ms, bytes
    FROM totals
    UNION ALL SELECT account_id, 'user', '', day, accepted, transcribed, failed, duration_ms, bytes FROM totals
    UNION ALL SELECT account_id, 'user', user_id, day, accepted, transcribed, failed, duration_ms, bytes FROM users
    UNION ALL SELECT account_id, 'user', '', day, -accepted, -transcribed, -failed, -duration_ms, -bytes FROM users)
  INSERT INTO usage_breakdowns AS b
    (account_id, dimension, value, day, accepted, transcribed, failed, duration_ms, bytes)
  SELECT account_id, dimension, value, day, sum(accepted), sum(transcribed), sum(failed), sum(duration_ms), sum(bytes)
  FROM figures GROUP BY 1, 2, 3, 4
  ON CONFLICT ON CONSTRAINT usage_breakdowns_pkey DO UPDATE SET
    accepted = b.accepted + excluded.accepted, transcribed = b.transcribed + excluded.transcribed,
    failed = b.failed + excluded.failed, duration_ms = b.duration_ms + excluded.duration_ms,
    bytes = b.bytes + excluded.bytes`;

/** Breaks down the usage so far. A migration of its own, so that no table is locked meanwhile. */
export class UsageBreakdownBackfill1765238400000 implements MigrationInterface {
  name = 'UsageBreakdownBackfill1765238400000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(BACKFILL);
    await runner.query('CREATE INDEX usage_breakdowns_day_idx ON usage_breakdowns (day)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX usage_breakdowns_day_idx');
    await runner.query('TRUNCATE usage_breakdowns');
  }
}
