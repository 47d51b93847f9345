import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A busy table is waited for briefly, so that requests do not queue behind this. */
const LOCK_TIMEOUT = `SET LOCAL lock_timeout = '5s'`;

/**
 * The attempts of a delivery, except the one that delivered it: that is in the delivery's own row, which is updated in
 * any case. A redelivery moves it here.
 */
const DELIVERY_ATTEMPTS = `
  CREATE TABLE delivery_attempts (
    delivery_id uuid NOT NULL CONSTRAINT delivery_attempts_delivery_fkey REFERENCES deliveries ON DELETE CASCADE,
    number integer NOT NULL,
    started_at timestamptz NOT NULL,
    status integer,
    error text CONSTRAINT delivery_attempts_error_check
      CHECK (error IN ('dns', 'tls', 'connect', 'timeout', 'refused_address', 'reset', 'secret')),
    reason text,
    duration_ms integer NOT NULL,
    response text,
    CONSTRAINT delivery_attempts_pkey PRIMARY KEY (delivery_id, number)
  )`;

/** A redelivery of many that is in progress, and how far it has come. */
const WEBHOOK_REDELIVERIES = `
  CREATE TABLE webhook_redeliveries (
    webhook_id uuid CONSTRAINT webhook_redeliveries_pkey PRIMARY KEY
      CONSTRAINT webhook_redeliveries_webhook_fkey REFERENCES webhooks ON DELETE CASCADE,
    account_id uuid NOT NULL CONSTRAINT webhook_redeliveries_account_fkey REFERENCES accounts ON DELETE CASCADE,
    status text CONSTRAINT webhook_redeliveries_status_check CHECK (status IN ('delivered', 'failed', 'missed')),
    created_from timestamptz NOT NULL,
    created_until timestamptz NOT NULL,
    started_at timestamptz NOT NULL,
    phase text NOT NULL CONSTRAINT webhook_redeliveries_phase_check CHECK (phase IN ('deliveries', 'events')),
    after_at timestamptz NOT NULL,
    after_id uuid NOT NULL
  )`;

/** A delivery that has ended is changed by a redelivery only, which begins the retry schedule anew. */
const STATE_GUARD = `
  CREATE FUNCTION deliveries_guard_state() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NEW.status <> 'pending' OR NEW.attempts_before <> OLD.attempts THEN
      RAISE EXCEPTION 'delivery % is %: its status cannot become %', OLD.id, OLD.status, NEW.status
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`;

const UP = [
  LOCK_TIMEOUT,
  `ALTER TABLE deliveries
     ADD COLUMN attempts_before integer NOT NULL DEFAULT 0,
     ADD COLUMN last_error_kind text,
     ADD COLUMN last_response text`,
  DELIVERY_ATTEMPTS,
  WEBHOOK_REDELIVERIES,
  STATE_GUARD,
  `CREATE TRIGGER deliveries_guard_state BEFORE UPDATE OF status ON deliveries FOR EACH ROW
     WHEN (OLD.status <> 'pending' AND NEW.status <> OLD.status) EXECUTE FUNCTION deliveries_guard_state()`,
  // Pages and totals of any status, and the events that a webhook missed, are read from indexes alone.
  'DROP INDEX deliveries_webhook_idx',
  `CREATE INDEX deliveries_webhook_idx ON deliveries (webhook_id, created_at DESC, id DESC)
     INCLUDE (status, event_id)`,
  // What a redelivery looks for.
  `CREATE INDEX deliveries_failed_idx ON deliveries (webhook_id, created_at, id) WHERE status = 'failed'`,
  'CREATE INDEX events_account_created_idx ON events (account_id, created_at, id) INCLUDE (kind)',
];

const DOWN = [
  LOCK_TIMEOUT,
  'DROP INDEX events_account_created_idx',
  'DROP INDEX deliveries_failed_idx',
  'DROP INDEX deliveries_webhook_idx',
  'CREATE INDEX deliveries_webhook_idx ON deliveries (webhook_id, created_at DESC, id DESC)',
  'DROP TRIGGER deliveries_guard_state ON deliveries',
  'DROP FUNCTION deliveries_guard_state',
  'DROP TABLE webhook_redeliveries',
  'DROP TABLE delivery_attempts',
  'ALTER TABLE deliveries DROP COLUMN attempts_before, DROP COLUMN last_error_kind, DROP COLUMN last_response',
];

/** Keeps the attempts of deliveries, and lets deliveries that have ended be sent again. */
export class DeliveryLog1764806400000 implements MigrationInterface {
  name = 'DeliveryLog1764806400000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
