import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A busy table is waited for briefly, so that requests do not queue behind the migration. */
const LOCK_TIMEOUT = `SET LOCAL lock_timeout = '5s'`;

/**
 * Numbers up to `at_most` events of each account that have no number yet, in the order of their positions. One caller at
 * a time for each account: the row of the sequence stays locked until the commit of this statement, and each statement of
 * a function in PL/pgSQL has a snapshot of its own, so that the numbers of the caller before are visible. Accounts are
 * locked in the order of their ids, so that two callers cannot deadlock.
 */
const NUMBER_EVENTS = `
  CREATE OR REPLACE FUNCTION number_events(accounts uuid[], at_most integer) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    account uuid;
    last_number bigint;
    numbered bigint;
    total bigint := 0;
  BEGIN
    FOR account IN SELECT DISTINCT a.id FROM unnest(accounts) AS a (id) ORDER BY a.id LOOP
      CONTINUE WHEN NOT EXISTS (SELECT FROM events e WHERE e.account_id = account AND e.sequence IS NULL);
      INSERT INTO event_sequences (account_id, last) VALUES (account, 0)
        ON CONFLICT ON CONSTRAINT event_sequences_pkey DO NOTHING;
      SELECT s.last INTO last_number FROM event_sequences s WHERE s.account_id = account FOR UPDATE;
      WITH waiting AS MATERIALIZED (
        SELECT e.id, e.position FROM events e WHERE e.account_id = account AND e.sequence IS NULL
        ORDER BY e.position LIMIT at_most FOR UPDATE),
      placed AS (SELECT id, row_number() OVER (ORDER BY position) AS place FROM waiting)
      UPDATE events e SET sequence = last_number + placed.place FROM placed WHERE e.id = placed.id;
      GET DIAGNOSTICS numbered = ROW_COUNT;
      UPDATE event_sequences s SET last = last_number + numbered WHERE s.account_id = account;
      total := total + numbered;
    END LOOP;
    RETURN total;
  END $$`;

/** What the catalog alone changes. Each step can be repeated, because they do not share a transaction. */
const COLUMNS = [
  LOCK_TIMEOUT,
  'CREATE SEQUENCE IF NOT EXISTS events_position_seq',
  `ALTER TABLE events ALTER sequence DROP NOT NULL,
     ADD COLUMN IF NOT EXISTS position bigint, ADD COLUMN IF NOT EXISTS user_id text`,
  `ALTER TABLE events ALTER position SET DEFAULT nextval('events_position_seq')`,
  'ALTER SEQUENCE events_position_seq OWNED BY events.position',
  NUMBER_EVENTS,
  `CREATE TABLE IF NOT EXISTS user_erasures (
     account_id uuid NOT NULL CONSTRAINT user_erasures_account_fkey REFERENCES accounts ON DELETE CASCADE,
     user_id text NOT NULL,
     requested_at timestamptz NOT NULL,
     CONSTRAINT user_erasures_pkey PRIMARY KEY (account_id, user_id)
   )`,
];

/** Outside a transaction, so that events go on. An attempt that was broken off leaves an invalid index. */
const INDEXES = [
  'DROP INDEX CONCURRENTLY IF EXISTS events_unnumbered_idx',
  'CREATE INDEX CONCURRENTLY events_unnumbered_idx ON events (account_id, position) WHERE sequence IS NULL',
  'DROP INDEX CONCURRENTLY IF EXISTS events_user_idx',
  'CREATE INDEX CONCURRENTLY events_user_idx ON events (account_id, user_id) WHERE user_id IS NOT NULL',
];

/** The end users of events from before this migration, which have no position: up to 10,000 after the id $1. */
const BACKFILL = `
  WITH old AS (SELECT id FROM events WHERE id > $1 ORDER BY id LIMIT 10000),
  changed AS (
    UPDATE events e SET user_id = e.body::json #>> '{recording,identity}' FROM old
    WHERE e.id = old.id AND e.position IS NULL AND e.kind IN ('recording.transcribed', 'recording.failed')
      AND e.body LIKE '%"identity":"%')
  SELECT max(id::text) AS last FROM old`;

/** Events that webhooks never get are unknown to the release before. */
const DOWN = [
  LOCK_TIMEOUT,
  `DELETE FROM events WHERE kind IN ('recording.accepted', 'recording.deleted')`,
  'SELECT number_events(array(SELECT DISTINCT account_id FROM events WHERE sequence IS NULL), 2147483647)',
  'DROP TABLE user_erasures',
  'DROP FUNCTION number_events',
  'DROP INDEX events_unnumbered_idx',
  'DROP INDEX events_user_idx',
  'ALTER TABLE events DROP COLUMN position, DROP COLUMN user_id',
  'ALTER TABLE events ALTER sequence SET NOT NULL',
];

/** Events are numbered after their commit, so that no account's transactions wait for a number (D40); end users can be erased (D46). */
export class EventFeed1764720000000 implements MigrationInterface {
  name = 'EventFeed1764720000000';
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await inTransaction(runner, COLUMNS);
    for (const statement of INDEXES) await runner.query(statement);
    for (let last: string | null = '00000000-0000-0000-0000-000000000000'; last !== null;) {
      const [row] = (await runner.query(BACKFILL, [last])) as { last: string | null }[];
      last = row?.last ?? null;
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await inTransaction(runner, DOWN);
  }
}

async function inTransaction(runner: QueryRunner, statements: readonly string[]): Promise<void> {
  await runner.startTransaction();
  try {
    for (const statement of statements) await runner.query(statement);
    await runner.commitTransaction();
  } catch (error) {
    await runner.rollbackTransaction();
    throw error;
  }
}
