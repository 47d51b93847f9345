import type { QueryRunner } from 'typeorm';
import type { ReplacingMigration } from '../platform/database/schema.js';

/** Tables whose rows come and go. By default a fifth of a table must be dead before it is vacuumed. */
const QUEUE = `autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.05`;

/** The schema of release 0.1.0. Constraints and indexes have names, so that a later migration can address them. */
const SCHEMA = `
-- Accounts and their credentials.

CREATE TABLE accounts (
  id uuid CONSTRAINT accounts_pkey PRIMARY KEY,
  name text NOT NULL,
  email text NOT NULL,
  status text NOT NULL CONSTRAINT accounts_status_check CHECK (status IN ('active', 'suspended')),
  plan text NOT NULL,
  rate_limit integer,
  burst_limit integer,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  credential_version integer NOT NULL DEFAULT 1,
  quotas jsonb NOT NULL DEFAULT '{}' CONSTRAINT accounts_quotas_check CHECK (jsonb_typeof(quotas) = 'object'),
  finish_queue boolean NOT NULL DEFAULT false,
  vocabulary text[] NOT NULL DEFAULT '{}',
  engines jsonb,
  CONSTRAINT accounts_limits_check CHECK (rate_limit > 0 AND burst_limit >= rate_limit)
);

CREATE INDEX accounts_on_hold_idx ON accounts (id) WHERE status = 'suspended' AND NOT finish_queue;
-- Few accounts have engines of their own. A claim looks for these while the engines of all others are unavailable.
CREATE INDEX accounts_engines_idx ON accounts (id) WHERE engines IS NOT NULL;

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
  updated_at timestamptz NOT NULL,
  created_by uuid CONSTRAINT api_keys_created_by_fkey REFERENCES api_keys ON DELETE SET NULL
);

CREATE INDEX api_keys_account_idx ON api_keys (account_id, created_at DESC, id DESC);
CREATE INDEX api_keys_created_by_idx ON api_keys (created_by) WHERE created_by IS NOT NULL;

-- What makes cached credentials out of date raises the version (docs/decisions/0007). Triggers, so that a change by hand
-- counts too.
CREATE FUNCTION accounts_raise_credential_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.credential_version := OLD.credential_version + 1;
  RETURN NEW;
END $$;
CREATE TRIGGER accounts_raise_credential_version
  BEFORE UPDATE OF status, plan, rate_limit, burst_limit, quotas ON accounts
  FOR EACH ROW EXECUTE FUNCTION accounts_raise_credential_version();
CREATE FUNCTION api_keys_raise_credential_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE accounts SET credential_version = credential_version + 1 WHERE id = OLD.account_id;
  RETURN NULL;
END $$;
CREATE TRIGGER api_keys_raise_credential_version
  AFTER DELETE OR UPDATE OF secret_hash, scopes, expires_at, revoked_at ON api_keys
  FOR EACH ROW EXECUTE FUNCTION api_keys_raise_credential_version();

-- Access tokens that were issued before a credential version of the account. No identity: all of them.
CREATE TABLE access_token_voids (
  account_id uuid NOT NULL CONSTRAINT access_token_voids_account_fkey REFERENCES accounts ON DELETE CASCADE,
  identity_hash text NOT NULL,
  valid_from integer NOT NULL,
  voided_at timestamptz NOT NULL,
  CONSTRAINT access_token_voids_pkey PRIMARY KEY (account_id, identity_hash)
);
CREATE INDEX access_token_voids_age_idx ON access_token_voids (account_id, voided_at);

-- A row for each kind of error and day, whatever the number of requests. An empty field: the error names none.
CREATE TABLE request_errors (
  account_id uuid NOT NULL CONSTRAINT request_errors_account_fkey REFERENCES accounts ON DELETE CASCADE,
  day date NOT NULL,
  operation text NOT NULL,
  status integer NOT NULL,
  code text NOT NULL,
  field text NOT NULL,
  type text NOT NULL,
  count bigint NOT NULL,
  first_at timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  message text NOT NULL,
  request_ids text[] NOT NULL,
  CONSTRAINT request_errors_pkey PRIMARY KEY (account_id, day, operation, status, code, field)
);
-- For the reconciler, which deletes the old ones.
CREATE INDEX request_errors_day_idx ON request_errors (day);

-- Recordings.

CREATE TABLE recordings (
  id uuid CONSTRAINT recordings_pkey PRIMARY KEY,
  account_id uuid NOT NULL CONSTRAINT recordings_account_fkey REFERENCES accounts ON DELETE CASCADE,
  user_id text,
  original_filename text NOT NULL,
  object_key text NOT NULL,
  bucket text NOT NULL,
  duration_ms integer NOT NULL CONSTRAINT recordings_duration_check CHECK (duration_ms >= 0),
  file_size_bytes integer NOT NULL,
  audio_format text NOT NULL CONSTRAINT recordings_format_check
    CHECK (audio_format IN ('webm', 'mp3', 'ogg', 'wav', 'm4a', 'aac', 'flac', 'amr')),
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
  -- Not a foreign key: usage stays when the key is gone.
  key_id uuid,
  vocabulary text[],
  rerun text,
  rerun_at timestamptz,
  requested_engine text,
  separate_channels boolean NOT NULL DEFAULT false,
  CONSTRAINT recordings_rerun_check CHECK ((rerun IS NULL) = (rerun_at IS NULL)
    AND (rerun IS NULL OR rerun IN ('requested', 'background', 'quiet'))),
  -- A transcribed recording has a lease only while it is run again.
  CONSTRAINT recordings_state_check CHECK (CASE status
    WHEN 'processing' THEN processed_at IS NULL AND features IS NULL AND failure_reason IS NULL AND rerun IS NULL
    WHEN 'transcribed' THEN processed_at IS NOT NULL AND features IS NOT NULL
      AND failure_reason IS NULL AND (lease_token IS NULL OR rerun IS NOT NULL)
    ELSE processed_at IS NOT NULL AND features IS NULL AND failure_reason IS NOT NULL AND lease_token IS NULL
      AND rerun IS NULL
  END)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

CREATE INDEX recordings_account_idx ON recordings (account_id, created_at DESC, id DESC);
CREATE INDEX recordings_account_status_idx ON recordings (account_id, status, created_at DESC, id DESC);
CREATE INDEX recordings_account_user_idx
  ON recordings (account_id, user_id, created_at DESC, id DESC) INCLUDE (status) WHERE user_id IS NOT NULL;
-- For recording-claims.queries.ts: what waits, what was claimed before, and what waits behind all others.
CREATE INDEX recordings_queue_idx ON recordings (account_id, coalesce(rerun_at, created_at), id)
  WHERE (status = 'processing' OR rerun = 'requested') AND lease_until IS NULL;
CREATE INDEX recordings_claimed_idx ON recordings (account_id, lease_until)
  WHERE (status = 'processing' OR rerun = 'requested') AND lease_until IS NOT NULL;
CREATE INDEX recordings_background_idx ON recordings (rerun_at, id) WHERE rerun IN ('background', 'quiet');
CREATE INDEX recordings_given_up_idx ON recordings (lease_until)
  WHERE (status = 'processing' OR rerun IS NOT NULL) AND attempt >= 20;

-- A terminal state is final; only a retry, which opens a new run, leads out of it.
CREATE FUNCTION recordings_guard_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status <> 'processing' AND NEW.status <> OLD.status
     AND NOT (OLD.status = 'failed' AND NEW.status = 'processing' AND NEW.run = OLD.run + 1) THEN
    RAISE EXCEPTION 'recording % is %: its status cannot become %', OLD.id, OLD.status, NEW.status
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER recordings_guard_state BEFORE UPDATE OF status ON recordings
  FOR EACH ROW EXECUTE FUNCTION recordings_guard_state();

-- In a table of its own, because pages of recordings do not need it: one byte for each point, at most about 1 kB.
CREATE TABLE waveforms (
  recording_id uuid CONSTRAINT waveforms_pkey PRIMARY KEY
    CONSTRAINT waveforms_recording_fkey REFERENCES recordings ON DELETE CASCADE,
  duration_ms integer NOT NULL,
  peaks bytea NOT NULL
);

CREATE TABLE idempotency_keys (
  account_id uuid NOT NULL CONSTRAINT idempotency_keys_account_fkey REFERENCES accounts ON DELETE CASCADE,
  identity text NOT NULL,
  key text NOT NULL,
  fingerprint text NOT NULL,
  recording_id uuid NOT NULL,
  created_at timestamptz NOT NULL,
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (account_id, identity, key)
) WITH (${QUEUE});
CREATE INDEX idempotency_keys_created_idx ON idempotency_keys (created_at);

-- The first attempt ends the reservation of an upload.
CREATE TABLE object_removals (
  object_key text CONSTRAINT object_removals_pkey PRIMARY KEY,
  remove_after timestamptz NOT NULL,
  attempts integer NOT NULL DEFAULT 0
) WITH (${QUEUE});
CREATE INDEX object_removals_due_idx ON object_removals (remove_after);

CREATE TABLE user_erasures (
  account_id uuid NOT NULL CONSTRAINT user_erasures_account_fkey REFERENCES accounts ON DELETE CASCADE,
  user_id text NOT NULL,
  requested_at timestamptz NOT NULL,
  CONSTRAINT user_erasures_pkey PRIMARY KEY (account_id, user_id)
);

-- Usage: counters, and the deltas since they were last compacted. A reader adds both (docs/decisions/0004).

CREATE TABLE usage_counters (
  account_id uuid NOT NULL CONSTRAINT usage_counters_account_fkey REFERENCES accounts ON DELETE CASCADE,
  day date NOT NULL,
  status text NOT NULL,
  listed bigint NOT NULL,
  accepted bigint NOT NULL,
  duration_ms bigint NOT NULL,
  bytes bigint NOT NULL,
  queued_ms bigint NOT NULL DEFAULT 0,
  transcribed bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  CONSTRAINT usage_counters_pkey PRIMARY KEY (account_id, day, status)
);

CREATE TABLE usage_counter_deltas (
  id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT usage_counter_deltas_pkey PRIMARY KEY,
  account_id uuid NOT NULL CONSTRAINT usage_counter_deltas_account_fkey REFERENCES accounts ON DELETE CASCADE,
  day date NOT NULL,
  status text NOT NULL,
  listed bigint NOT NULL,
  accepted bigint NOT NULL,
  duration_ms bigint NOT NULL,
  bytes bigint NOT NULL,
  queued_ms bigint NOT NULL DEFAULT 0,
  transcribed bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  key_id uuid,
  user_id text
) WITH (${QUEUE});
CREATE INDEX usage_counter_deltas_account_idx ON usage_counter_deltas (account_id, day);

CREATE TABLE usage_breakdowns (
  account_id uuid NOT NULL CONSTRAINT usage_breakdowns_account_fkey REFERENCES accounts ON DELETE CASCADE,
  dimension text NOT NULL CONSTRAINT usage_breakdowns_dimension_check CHECK (dimension IN ('key', 'user')),
  value text COLLATE "C" NOT NULL,
  day date NOT NULL,
  accepted bigint NOT NULL,
  transcribed bigint NOT NULL,
  failed bigint NOT NULL,
  duration_ms bigint NOT NULL,
  bytes bigint NOT NULL,
  CONSTRAINT usage_breakdowns_pkey PRIMARY KEY (account_id, dimension, value, day)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX usage_breakdowns_day_idx ON usage_breakdowns (day);

-- Transcriptions.

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
  updated_at timestamptz NOT NULL,
  revision integer NOT NULL DEFAULT 1,
  corrected_text text,
  corrected_words text,
  CONSTRAINT transcriptions_correction_check CHECK ((corrected_text IS NULL) = (corrected_words IS NULL))
);

CREATE TABLE earlier_transcriptions (
  id uuid CONSTRAINT earlier_transcriptions_pkey PRIMARY KEY,
  recording_id uuid NOT NULL
    CONSTRAINT earlier_transcriptions_recording_fkey REFERENCES recordings ON DELETE CASCADE,
  text text NOT NULL,
  confidence double precision NOT NULL,
  language text NOT NULL,
  provider text NOT NULL,
  model text NOT NULL,
  processing_duration_ms integer NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX earlier_transcriptions_recording_idx
  ON earlier_transcriptions (recording_id, created_at DESC, id DESC);

-- How far the recordings of an account are marked to be transcribed again; the accounts of one command share a job.
CREATE TABLE retranscriptions (
  account_id uuid CONSTRAINT retranscriptions_pkey PRIMARY KEY
    CONSTRAINT retranscriptions_account_fkey REFERENCES accounts ON DELETE CASCADE,
  job_id uuid NOT NULL,
  model_not text NOT NULL,
  created_from timestamptz NOT NULL,
  created_until timestamptz NOT NULL,
  rate integer CONSTRAINT retranscriptions_rate_check CHECK (rate > 0),
  quiet boolean NOT NULL,
  before_at timestamptz NOT NULL,
  before_id uuid NOT NULL,
  total integer NOT NULL,
  marked integer NOT NULL DEFAULT 0,
  marked_ms bigint NOT NULL DEFAULT 0,
  marked_at timestamptz NOT NULL,
  failed integer NOT NULL DEFAULT 0,
  started_at timestamptz NOT NULL,
  ended_at timestamptz,
  is_canceled boolean NOT NULL DEFAULT false
);

-- Accounts share the engines by seconds of audio (docs/decisions/0009).
CREATE TABLE transcription_shares (
  account_id uuid CONSTRAINT transcription_shares_pkey PRIMARY KEY
    CONSTRAINT transcription_shares_account_fkey REFERENCES accounts ON DELETE CASCADE,
  virtual_start bigint NOT NULL,
  virtual_end bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1);
CREATE INDEX transcription_shares_start_idx ON transcription_shares (virtual_start);

-- Rows over 2 kB keep everything long beside the table, because a search reads the rows of all matches. Terms carry
-- a mark of their account, so that the index needs no extension and no other account makes a search slower.
CREATE TABLE search_documents (
  recording_id uuid CONSTRAINT search_documents_pkey PRIMARY KEY
    CONSTRAINT search_documents_recording_fkey REFERENCES recordings ON DELETE CASCADE,
  account_id uuid NOT NULL,
  created_at timestamptz NOT NULL,
  terms tsvector NOT NULL,
  folded text,
  text text,
  CONSTRAINT search_documents_text_check CHECK ((folded IS NULL) = (text IS NULL))
) WITH (toast_tuple_target = 128, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE search_documents ALTER terms SET STORAGE EXTERNAL, ALTER folded SET STORAGE EXTERNAL;
-- Without a list of pending entries, which every search would read and an unlucky writer would have to sort in.
CREATE INDEX search_documents_terms_idx ON search_documents USING gin (terms) WITH (fastupdate = off);

-- How far recordings from before the search are indexed: a new database has none.
CREATE TABLE search_backfill (
  id integer CONSTRAINT search_backfill_pkey PRIMARY KEY CONSTRAINT search_backfill_single_check CHECK (id = 1),
  before_id uuid,
  passes_left integer NOT NULL,
  next_at timestamptz NOT NULL
);
INSERT INTO search_backfill (id, passes_left, next_at) VALUES (1, 0, now());

-- Events, and their deliveries to webhooks.

CREATE SEQUENCE events_position_seq;
-- No foreign key to recordings: what has happened is kept when the recording is deleted.
CREATE TABLE events (
  id uuid CONSTRAINT events_pkey PRIMARY KEY,
  account_id uuid NOT NULL CONSTRAINT events_account_fkey REFERENCES accounts ON DELETE CASCADE,
  sequence bigint,
  kind text NOT NULL,
  recording_id uuid,
  run integer,
  body text NOT NULL,
  created_at timestamptz NOT NULL,
  position bigint DEFAULT nextval('events_position_seq'),
  user_id text,
  CONSTRAINT events_account_sequence_key UNIQUE (account_id, sequence),
  CONSTRAINT events_recording_check CHECK (kind NOT IN ('recording.transcribed', 'recording.failed')
    OR (recording_id IS NOT NULL AND run IS NOT NULL))
);
ALTER SEQUENCE events_position_seq OWNED BY events.position;

-- Each run of a recording has exactly one event of these kinds.
CREATE UNIQUE INDEX events_recording_terminal_key ON events (recording_id, run)
  WHERE kind IN ('recording.transcribed', 'recording.failed');
CREATE INDEX events_created_idx ON events (created_at);
CREATE INDEX events_account_created_idx ON events (account_id, created_at, id) INCLUDE (kind);
CREATE INDEX events_unnumbered_idx ON events (account_id, position) WHERE sequence IS NULL;
CREATE INDEX events_user_idx ON events (account_id, user_id) WHERE user_id IS NOT NULL;

CREATE TABLE event_sequences (
  account_id uuid CONSTRAINT event_sequences_pkey PRIMARY KEY
    CONSTRAINT event_sequences_account_fkey REFERENCES accounts ON DELETE CASCADE,
  last bigint NOT NULL
);

-- Numbers up to at_most events of each account that have no number yet, in the order of their positions
-- (docs/decisions/0013). One caller at a time for each account: the row of the sequence stays locked until the commit of
-- this statement, and each statement of a function in PL/pgSQL has a snapshot of its own, so that the numbers of the
-- caller before are visible. Accounts are locked in the order of their ids, so that two callers cannot deadlock.
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
END $$;

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
  updated_at timestamptz NOT NULL,
  previous_encrypted_secret text,
  previous_secret_until timestamptz,
  CONSTRAINT webhooks_previous_secret_check
    CHECK ((previous_encrypted_secret IS NULL) = (previous_secret_until IS NULL))
);
CREATE INDEX webhooks_account_idx ON webhooks (account_id, created_at DESC, id DESC);

-- A webhook is deleted at once, and its deliveries in batches.
CREATE TABLE removed_webhooks (webhook_id uuid CONSTRAINT removed_webhooks_pkey PRIMARY KEY);

CREATE TABLE deliveries (
  id uuid CONSTRAINT deliveries_pkey PRIMARY KEY,
  account_id uuid NOT NULL CONSTRAINT deliveries_account_fkey REFERENCES accounts ON DELETE CASCADE,
  event_id uuid NOT NULL CONSTRAINT deliveries_event_fkey REFERENCES events ON DELETE CASCADE,
  webhook_id uuid NOT NULL,
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
  attempts_before integer NOT NULL DEFAULT 0,
  last_error_kind text,
  last_response text,
  CONSTRAINT deliveries_event_webhook_key UNIQUE (event_id, webhook_id),
  CONSTRAINT deliveries_state_check CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL))
) WITH (${QUEUE});

CREATE INDEX deliveries_due_idx ON deliveries (webhook_id, next_attempt_at) WHERE status = 'pending';
-- Pages and totals of any status, and the events that a webhook missed, are read from indexes alone.
CREATE INDEX deliveries_webhook_idx ON deliveries (webhook_id, created_at DESC, id DESC) INCLUDE (status, event_id);
-- What a redelivery looks for.
CREATE INDEX deliveries_failed_idx ON deliveries (webhook_id, created_at, id) WHERE status = 'failed';

-- A delivery that has ended is changed by a redelivery only, which begins the retry schedule anew.
CREATE FUNCTION deliveries_guard_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status <> 'pending' OR NEW.attempts_before <> OLD.attempts THEN
    RAISE EXCEPTION 'delivery % is %: its status cannot become %', OLD.id, OLD.status, NEW.status
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER deliveries_guard_state BEFORE UPDATE OF status ON deliveries FOR EACH ROW
  WHEN (OLD.status <> 'pending' AND NEW.status <> OLD.status) EXECUTE FUNCTION deliveries_guard_state();

-- The attempts of a delivery, except the one that delivered it: that is in the delivery's own row, which is updated in
-- any case. A redelivery moves it here.
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
);

-- A redelivery of many that is in progress, and how far it has come.
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
);

-- Migrations that a process must know, because a later one has removed what releases before them use. A process
-- tolerates all other migrations of newer releases.
CREATE TABLE required_migrations (name text CONSTRAINT required_migrations_pkey PRIMARY KEY);
`;

/** Each of which was a migration of its own in release 0.1.0. */
const REPLACED = [
  'Initial1763683200000',
  'AccountEpoch1763769600000',
  'UsageCountersAndOpenKinds1763856000000',
  'Quotas1764028800000',
  'FairQueues1764201600000',
  'RemovedWebhooks1764288000000',
  'ObjectRemovalAttempts1764374400000',
  'CredentialLineage1764547200000',
  'PreviousWebhookSecrets1764633600000',
  'EventFeed1764720000000',
  'DeliveryLog1764806400000',
  'Corrections1764892800000',
  'RecordingSearch1764979200000',
  'UsageBreakdowns1765152000000',
  'UsageBreakdownBackfill1765238400000',
  'VocabularyAndEngines1765324800000',
  'TranscribeAgain1765411200000',
  'MoreFormats1765497600000',
  'Waveforms1765584000000',
  'RequestErrors1765670400000',
  'RequiredMigrations1765756800000',
];

/** Never changed again: databases that were made by release 0.1.0 would not get the change. */
export class InitialSchema1763683200000 implements ReplacingMigration {
  replaces = { release: 'v0.1.0', names: REPLACED };

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(SCHEMA);
  }

  async down(): Promise<void> {
    throw new Error('The first migration has no way back: drop the database instead.');
  }
}
