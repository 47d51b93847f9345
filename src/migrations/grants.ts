import type { Extension } from '../extension.js';
import type { Grants } from '../platform/database/grants.js';

const ALL = 'SELECT, INSERT, UPDATE, DELETE';
/** What a change of state writes; neither whose recording it is nor where its audio lies. */
const STATE_OF_RECORDINGS = `UPDATE (status, features, failure_reason, duration_ms, run, rerun, rerun_at,
  requested_engine, attempt, faults, lease_token, lease_until, processed_at, updated_at)`;

/** What a deliverer writes when it has fetched the link of a recording. */
const AUDIO_OF_RECORDINGS = `UPDATE (object_key, original_filename, audio_format, file_size_bytes, sample_rate, channels,
  bit_rate, audio_codec)`;

const SEALED_AND_ERASED = 'UPDATE (number, previous_hash, hash, user_id, address, user_agent, salt)';

/**
 * What the processes of each role do with the tables. A transcriber reads strangers' audio: it sees no credential, no
 * address of a webhook and nothing of accounts but how to transcribe for them, and it deletes nothing that is of worth. A
 * deliverer also runs the reconciler. Accounts are created and changed by the operator's commands, which connect as the
 * owner. Migrations apply the list; what a release no longer needs stays until the next one, for the processes of the
 * release before. Held by roles.e2e.ts.
 */
const CORE: Grants = {
  migrations: { api: 'SELECT', transcriber: 'SELECT', deliverer: 'SELECT' },
  required_migrations: { api: 'SELECT', transcriber: 'SELECT', deliverer: 'SELECT' },
  accounts: {
    api: `SELECT, UPDATE (vocabulary, speakers, retain_audio_days, retain_text_days, delete_audio_after,
      credential_version, updated_at)`,
    transcriber: 'SELECT (id, status, finish_queue, vocabulary, engines, plan, quotas, test_of)',
    deliverer: 'SELECT (id, status, finish_queue, engines, plan, quotas, test_of)',
  },
  api_keys: { api: 'SELECT, INSERT, UPDATE' },
  access_token_voids: { api: ALL },
  token_issuers: { api: ALL },
  people: { api: ALL },
  identities: { api: ALL },
  passkeys: { api: ALL },
  memberships: { api: ALL },
  sessions: { api: ALL },
  sign_in_links: { api: ALL },
  sign_in_mails: { api: ALL },
  // Nobody changes what an entry says: a number and hashes are given to it, and personal data taken from it.
  audit_entries: {
    api: `SELECT, INSERT, ${SEALED_AND_ERASED}`,
    deliverer: `SELECT, INSERT, DELETE, ${SEALED_AND_ERASED}`,
  },
  audit_logs: { api: 'SELECT, INSERT, UPDATE', deliverer: 'SELECT, INSERT, UPDATE' },
  account_exports: { api: ALL, deliverer: 'SELECT, DELETE' },
  // Wrapped. A transcriber reads audio, and never stores any.
  storage_keys: { api: 'SELECT, INSERT', transcriber: 'SELECT', deliverer: 'SELECT, INSERT' },
  request_errors: { api: ALL, deliverer: 'SELECT, DELETE' },

  recordings: {
    api: ALL,
    transcriber: `SELECT, ${STATE_OF_RECORDINGS}`,
    deliverer: `SELECT, DELETE, ${STATE_OF_RECORDINGS}, ${AUDIO_OF_RECORDINGS}, UPDATE (audio_deleted_at)`,
  },
  recording_links: { api: 'SELECT, INSERT, UPDATE', deliverer: ALL },
  live_recordings: {
    api: 'SELECT, INSERT, UPDATE',
    transcriber: 'SELECT, UPDATE (lease_token, lease_until, words_ended_at, words_problem)',
    deliverer: ALL,
  },
  live_words: { api: 'SELECT', transcriber: 'SELECT, INSERT', deliverer: 'SELECT' },
  live_cuts: { api: 'SELECT, INSERT, UPDATE', transcriber: 'SELECT', deliverer: 'SELECT' },
  live_audio: { api: 'SELECT, INSERT', transcriber: 'SELECT', deliverer: 'SELECT, DELETE' },
  shares: { api: ALL },
  idempotency_keys: { api: ALL, deliverer: 'SELECT, DELETE' },
  object_removals: { api: ALL, transcriber: 'SELECT', deliverer: ALL },
  usage_counters: { api: 'SELECT', transcriber: 'SELECT', deliverer: ALL },
  usage_counter_deltas: { api: 'SELECT, INSERT, UPDATE (user_id)', transcriber: 'SELECT, INSERT', deliverer: ALL },
  usage_breakdowns: { api: ALL, deliverer: ALL },
  user_erasures: { api: ALL, deliverer: 'SELECT, DELETE' },
  search_documents: { api: ALL, transcriber: 'SELECT, INSERT, UPDATE, DELETE', deliverer: ALL },
  search_backfill: { api: 'SELECT', deliverer: ALL },

  transcription_shares: {
    api: 'SELECT, INSERT, UPDATE (is_waiting)',
    transcriber: 'SELECT, INSERT, UPDATE',
    deliverer: 'SELECT, INSERT, UPDATE (is_waiting)',
  },
  transcriptions: { api: 'SELECT, UPDATE', transcriber: 'SELECT, INSERT, UPDATE', deliverer: 'SELECT' },
  earlier_transcriptions: { api: 'SELECT', transcriber: 'SELECT, INSERT, DELETE' },
  transcription_partials: { api: 'SELECT', transcriber: 'SELECT, INSERT, DELETE', deliverer: 'SELECT, DELETE' },
  waveforms: { api: 'SELECT', transcriber: 'SELECT, INSERT, UPDATE', deliverer: 'SELECT, DELETE' },
  retranscriptions: { transcriber: 'SELECT, UPDATE (failed)', deliverer: 'SELECT, UPDATE' },

  events: {
    api: 'SELECT, INSERT, UPDATE (sequence, body, user_id)',
    transcriber: 'INSERT, SELECT (id, account_id, position, sequence), UPDATE (sequence)',
    deliverer: ALL,
  },
  event_sequences: {
    api: 'SELECT, INSERT, UPDATE',
    transcriber: 'SELECT, INSERT, UPDATE',
    deliverer: 'SELECT, INSERT, UPDATE',
  },
  webhooks: {
    api: ALL,
    // To lock a row takes the right to change some column of it.
    transcriber: 'SELECT (id, account_id, status, events, recording_id), UPDATE (updated_at)',
    deliverer: 'SELECT, DELETE, UPDATE (status, failing_since, consecutive_failures, updated_at)',
  },
  deliveries: {
    api: ALL,
    // What TypeORM reads back of the defaults of a new row.
    transcriber: 'INSERT, SELECT (id, attempts, attempts_before, next_attempt_at)',
    deliverer: ALL,
  },
  delivery_attempts: { api: ALL, deliverer: ALL },
  removed_webhooks: { api: 'SELECT, INSERT, DELETE', deliverer: 'SELECT, INSERT, DELETE' },
  webhook_redeliveries: { api: ALL, deliverer: ALL },

  // Triggers write them, with the rights of the owner.
  erasures: { deliverer: 'SELECT, DELETE, UPDATE (is_written)' },
  backup_state: { deliverer: 'SELECT' },
};

/** Those of the core and of each extension. */
export function grantsOf(extensions: readonly Extension[]): Grants {
  return Object.assign({}, CORE, ...extensions.map(({ grants }) => grants ?? {})) as Grants;
}
