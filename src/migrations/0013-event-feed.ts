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
  CREATE FUNCTION number_events(accounts uuid[], at_most integer) RETURNS bigint LANGUAGE plpgsql AS $$
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

const UP = [
  LOCK_TIMEOUT,
  'CREATE SEQUENCE events_position_seq',
  'ALTER TABLE events ALTER sequence DROP NOT NULL, ADD COLUMN position bigint',
  `ALTER TABLE events ALTER position SET DEFAULT nextval('events_position_seq')`,
  'ALTER SEQUENCE events_position_seq OWNED BY events.position',
  'CREATE INDEX events_unnumbered_idx ON events (account_id, position) WHERE sequence IS NULL',
  NUMBER_EVENTS,
];

/** Events that webhooks never get are unknown to the release before. */
const DOWN = [
  LOCK_TIMEOUT,
  `DELETE FROM events WHERE kind IN ('recording.accepted', 'recording.deleted')`,
  'SELECT number_events(array(SELECT DISTINCT account_id FROM events WHERE sequence IS NULL), 2147483647)',
  'DROP FUNCTION number_events',
  'DROP INDEX events_unnumbered_idx',
  'ALTER TABLE events DROP COLUMN position',
  'ALTER TABLE events ALTER sequence SET NOT NULL',
];

/** Events are numbered after their commit, so that no account's transactions wait for a number (D40). */
export class EventFeed1764720000000 implements MigrationInterface {
  name = 'EventFeed1764720000000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
