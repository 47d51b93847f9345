import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The whole schema of the first release. Every constraint and index has a name, so that a later change can address it. */
export class Initial1763683200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of STATEMENTS) await runner.query(statement);
  }

  async down(): Promise<void> {
    throw new Error('The first migration has no way back: drop the database instead.');
  }
}

const ACCOUNTS = `
  CREATE TABLE accounts (
    id uuid CONSTRAINT accounts_pkey PRIMARY KEY,
    name text NOT NULL,
    email text NOT NULL,
    status text NOT NULL CONSTRAINT accounts_status_check CHECK (status IN ('active', 'suspended')),
    plan text NOT NULL CONSTRAINT accounts_plan_check CHECK (plan IN ('free', 'pro', 'enterprise')),
    rate_limit integer,
    burst_limit integer,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT accounts_limits_check CHECK (rate_limit > 0 AND burst_limit >= rate_limit)
  )`;

const API_KEYS = `
  CREATE TABLE api_keys (
    id uuid CONSTRAINT api_keys_pkey PRIMARY KEY,
    account_id uuid NOT NULL CONSTRAINT api_keys_account_fkey REFERENCES accounts ON DELETE CASCADE,
    name text NOT NULL,
    description text,
    key text NOT NULL CONSTRAINT api_keys_key_key UNIQUE,
    secret_hash text NOT NULL,
    scopes text[] NOT NULL CONSTRAINT api_keys_scopes_check CHECK (cardinality(scopes) > 0),
    usage_count bigint NOT NULL DEFAULT 0,
    last_used_at timestamptz,
    expires_at timestamptz,
    revoked_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
  )`;

const RECORDINGS = `
  CREATE TABLE recordings (
    id uuid CONSTRAINT recordings_pkey PRIMARY KEY,
    account_id uuid NOT NULL CONSTRAINT recordings_account_fkey REFERENCES accounts ON DELETE CASCADE,
    user_id text,
    original_filename text NOT NULL,
    object_key text NOT NULL CONSTRAINT recordings_object_key_key UNIQUE,
    bucket text NOT NULL,
    duration_ms integer NOT NULL CONSTRAINT recordings_duration_check CHECK (duration_ms >= 0),
    file_size_bytes integer NOT NULL,
    audio_format text NOT NULL CONSTRAINT recordings_format_check CHECK (audio_format IN ('webm', 'mp3', 'ogg', 'wav')),
    sample_rate integer,
    channels integer,
    bit_rate integer,
    audio_codec text,
    client_ip text,
    user_agent text,
    upload_source text NOT NULL
      CONSTRAINT recordings_source_check CHECK (upload_source IN ('api', 'console', 'access_token')),
    custom_tags text,
    language text,
    status text NOT NULL CONSTRAINT recordings_status_check CHECK (status IN ('processing', 'transcribed', 'failed')),
    features jsonb,
    failure_reason text,
    run integer NOT NULL DEFAULT 1,
    attempt integer NOT NULL DEFAULT 0,
    faults integer NOT NULL DEFAULT 0,
    lease_token uuid,
    lease_until timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    processed_at timestamptz,
    CONSTRAINT recordings_state_check CHECK (CASE status
      WHEN 'processing' THEN processed_at IS NULL AND features IS NULL AND failure_reason IS NULL
      WHEN 'transcribed' THEN processed_at IS NOT NULL AND features IS NOT NULL
        AND failure_reason IS NULL AND lease_token IS NULL
      ELSE processed_at IS NOT NULL AND features IS NULL AND failure_reason IS NOT NULL AND lease_token IS NULL
    END)
  )`;

/** A terminal state is final; only a retry, which opens a new run, leads out of it. */
const STATE_GUARD = `
  CREATE FUNCTION recordings_guard_state() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF OLD.status <> 'processing' AND NEW.status <> OLD.status
       AND NOT (OLD.status = 'failed' AND NEW.status = 'processing' AND NEW.run = OLD.run + 1) THEN
      RAISE EXCEPTION 'recording % is % and stays so', OLD.id, OLD.status USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`;

/** Counters and the deltas since they were last compacted. A reader adds both (docs/decisions/0004). */
const counterTable = (table: string, key: string): string => `
  CREATE TABLE ${table} (
    ${key}
    account_id uuid NOT NULL CONSTRAINT ${table}_account_fkey REFERENCES accounts ON DELETE CASCADE,
    day date NOT NULL,
    status text NOT NULL,
    listed bigint NOT NULL,
    accepted bigint NOT NULL,
    duration_ms bigint NOT NULL,
    bytes bigint NOT NULL`;

const COUNTER_TABLES = [
  `${counterTable('recording_tallies', '')},
    CONSTRAINT recording_tallies_pkey PRIMARY KEY (account_id, day, status)
  )`,
  `${counterTable('recording_tally_deltas', 'id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT recording_tally_deltas_pkey PRIMARY KEY,')}
  )`,
  `CREATE INDEX recording_tally_deltas_account_idx ON recording_tally_deltas (account_id, day)`,
];

const IDEMPOTENCY_KEYS = `
  CREATE TABLE idempotency_keys (
    account_id uuid NOT NULL CONSTRAINT idempotency_keys_account_fkey REFERENCES accounts ON DELETE CASCADE,
    identity text NOT NULL,
    key text NOT NULL,
    fingerprint text NOT NULL,
    recording_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (account_id, identity, key)
  )`;

const OBJECT_REMOVALS = `
  CREATE TABLE object_removals (
    object_key text CONSTRAINT object_removals_pkey PRIMARY KEY,
    remove_after timestamptz NOT NULL
  )`;

const TRANSCRIPTIONS = `
  CREATE TABLE transcriptions (
    id uuid CONSTRAINT transcriptions_pkey PRIMARY KEY,
    recording_id uuid NOT NULL CONSTRAINT transcriptions_recording_key UNIQUE
      CONSTRAINT transcriptions_recording_fkey REFERENCES recordings ON DELETE CASCADE,
    account_id uuid NOT NULL CONSTRAINT transcriptions_account_fkey REFERENCES accounts ON DELETE CASCADE,
    text text NOT NULL,
    confidence double precision NOT NULL
      CONSTRAINT transcriptions_confidence_check CHECK (confidence BETWEEN 0 AND 1),
    language text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    processing_duration_ms integer NOT NULL,
    words text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
  )`;

const WEBHOOKS = `
  CREATE TABLE webhooks (
    id uuid CONSTRAINT webhooks_pkey PRIMARY KEY,
    account_id uuid NOT NULL CONSTRAINT webhooks_account_fkey REFERENCES accounts ON DELETE CASCADE,
    url text NOT NULL,
    events text[] NOT NULL CONSTRAINT webhooks_events_check CHECK (cardinality(events) > 0),
    encrypted_secret text NOT NULL,
    status text NOT NULL CONSTRAINT webhooks_status_check CHECK (status IN ('active', 'disabled')),
    failing_since timestamptz,
    consecutive_failures integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
  )`;

/** No foreign key to recordings: what has happened is kept when the recording is deleted. */
const EVENTS = `
  CREATE TABLE events (
    id uuid CONSTRAINT events_pkey PRIMARY KEY,
    account_id uuid NOT NULL CONSTRAINT events_account_fkey REFERENCES accounts ON DELETE CASCADE,
    sequence bigint NOT NULL,
    kind text NOT NULL CONSTRAINT events_kind_check CHECK (kind IN ('recording.transcribed', 'recording.failed')),
    recording_id uuid NOT NULL,
    run integer NOT NULL,
    body text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT events_recording_run_key UNIQUE (recording_id, run),
    CONSTRAINT events_account_sequence_key UNIQUE (account_id, sequence)
  )`;

const EVENT_SEQUENCES = `
  CREATE TABLE event_sequences (
    account_id uuid CONSTRAINT event_sequences_pkey PRIMARY KEY
      CONSTRAINT event_sequences_account_fkey REFERENCES accounts ON DELETE CASCADE,
    last bigint NOT NULL
  )`;

const DELIVERIES = `
  CREATE TABLE deliveries (
    id uuid CONSTRAINT deliveries_pkey PRIMARY KEY,
    account_id uuid NOT NULL CONSTRAINT deliveries_account_fkey REFERENCES accounts ON DELETE CASCADE,
    event_id uuid NOT NULL CONSTRAINT deliveries_event_fkey REFERENCES events ON DELETE CASCADE,
    webhook_id uuid NOT NULL CONSTRAINT deliveries_webhook_fkey REFERENCES webhooks ON DELETE CASCADE,
    status text NOT NULL CONSTRAINT deliveries_status_check CHECK (status IN ('pending', 'delivered', 'failed')),
    attempts integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz,
    lease_token uuid,
    lease_until timestamptz,
    last_attempt_at timestamptz,
    last_status integer,
    last_error text,
    last_duration_ms integer,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT deliveries_event_webhook_key UNIQUE (event_id, webhook_id),
    CONSTRAINT deliveries_state_check CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL))
  )`;

const INDEXES = [
  `CREATE INDEX api_keys_account_idx ON api_keys (account_id, created_at DESC, id DESC)`,
  `CREATE INDEX webhooks_account_idx ON webhooks (account_id, created_at DESC, id DESC)`,
  `CREATE INDEX recordings_account_idx ON recordings (account_id, created_at DESC, id DESC)`,
  `CREATE INDEX recordings_account_status_idx ON recordings (account_id, status, created_at DESC, id DESC)`,
  `CREATE INDEX recordings_processing_idx ON recordings (created_at) WHERE status = 'processing'`,
  `CREATE INDEX idempotency_keys_created_idx ON idempotency_keys (created_at)`,
  `CREATE INDEX object_removals_due_idx ON object_removals (remove_after)`,
  `CREATE INDEX events_created_idx ON events (created_at)`,
  `CREATE INDEX deliveries_due_idx ON deliveries (webhook_id, next_attempt_at) WHERE status = 'pending'`,
  `CREATE INDEX deliveries_webhook_idx ON deliveries (webhook_id, created_at DESC, id DESC)`,
];

const STATEMENTS = [
  ACCOUNTS,
  API_KEYS,
  RECORDINGS,
  STATE_GUARD,
  `CREATE TRIGGER recordings_guard_state BEFORE UPDATE OF status ON recordings
     FOR EACH ROW EXECUTE FUNCTION recordings_guard_state()`,
  ...COUNTER_TABLES,
  IDEMPOTENCY_KEYS,
  OBJECT_REMOVALS,
  TRANSCRIPTIONS,
  WEBHOOKS,
  EVENTS,
  EVENT_SEQUENCES,
  DELIVERIES,
  ...INDEXES,
];
