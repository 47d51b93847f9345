import type { SqlRunner } from '../../platform/database/database.service.js';

/** A table of which an account has rows. */
export interface AccountTable {
  /** Quoted where that is needed. */
  name: string;
  /** Condition for rows `t` of the accounts `$1`, by an index. */
  condition: string;
  /** In which rows are archived, and so inserted. */
  order?: string;
  /** Columns that an archive leaves out: each installation gives its own, or has no use for them. */
  without?: readonly string[];
}

const OF_ACCOUNT = 't.account_id = ANY ($1)';
const OF_RECORDING = 't.recording_id IN (SELECT id FROM recordings WHERE account_id = ANY ($1))';
const OF_BOTH = `${OF_RECORDING} AND ${OF_ACCOUNT}`;
const OF_WEBHOOK = 't.webhook_id IN (SELECT id FROM webhooks WHERE account_id = ANY ($1))';

/** In the order in which rows can be inserted: what others refer to comes first. */
const TABLES: readonly AccountTable[] = [
  { name: 'accounts', condition: 't.id = ANY ($1)', order: 't.test_of NULLS FIRST' },
  { name: 'api_keys', condition: OF_ACCOUNT, order: 't.created_at, t.id' },
  { name: 'access_token_voids', condition: OF_ACCOUNT },
  { name: 'token_issuers', condition: OF_ACCOUNT },
  {
    name: 'people',
    condition: 't.id IN (SELECT person_id FROM memberships WHERE account_id = ANY ($1))',
    without: ['password_hash', 'password_salt'],
  },
  { name: 'memberships', condition: OF_ACCOUNT },
  { name: 'recordings', condition: OF_ACCOUNT, order: 't.created_at, t.id' },
  { name: 'recording_links', condition: OF_BOTH },
  { name: 'waveforms', condition: OF_RECORDING },
  { name: 'transcriptions', condition: OF_BOTH },
  { name: 'earlier_transcriptions', condition: OF_RECORDING },
  { name: 'transcription_partials', condition: OF_RECORDING },
  { name: 'search_documents', condition: OF_BOTH },
  { name: 'shares', condition: OF_BOTH },
  { name: 'live_recordings', condition: OF_BOTH },
  { name: 'live_audio', condition: OF_RECORDING },
  { name: 'live_words', condition: OF_RECORDING },
  { name: 'live_cuts', condition: OF_RECORDING },
  { name: 'idempotency_keys', condition: OF_ACCOUNT },
  { name: 'user_erasures', condition: OF_ACCOUNT },
  { name: 'usage_counters', condition: OF_ACCOUNT },
  { name: 'usage_counter_deltas', condition: OF_ACCOUNT, without: ['id'] },
  { name: 'usage_breakdowns', condition: OF_ACCOUNT },
  { name: 'request_errors', condition: OF_ACCOUNT },
  // Positions are of one installation; the order of those without a number stays.
  { name: 'events', condition: OF_ACCOUNT, order: 't.sequence NULLS LAST, t.position', without: ['position'] },
  { name: 'event_sequences', condition: OF_ACCOUNT },
  { name: 'webhooks', condition: OF_ACCOUNT },
  // Without those of webhooks that are being removed.
  { name: 'deliveries', condition: `${OF_WEBHOOK} AND ${OF_ACCOUNT}` },
  {
    name: 'delivery_attempts',
    condition: `t.delivery_id IN (SELECT d.id FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id
      WHERE w.account_id = ANY ($1))`,
  },
  { name: 'webhook_redeliveries', condition: `${OF_WEBHOOK} AND ${OF_ACCOUNT}` },
  { name: 'audit_entries', condition: OF_ACCOUNT },
  { name: 'audit_logs', condition: OF_ACCOUNT },
];

/** Tables of the core that no archive has, and why. */
const NOT_ARCHIVED: Readonly<Record<string, string>> = {
  account_exports: 'The archives themselves.',
  backup_state: 'Of the installation.',
  erasures: 'For the backups of the installation.',
  identities: 'Ways in belong to the installation.',
  migrations: 'Of the installation; the manifest names them.',
  object_removals: 'What an installation still has to remove.',
  passkeys: 'Ways in belong to the installation.',
  removed_webhooks: 'What an installation still has to remove.',
  required_migrations: 'Of the installation.',
  retranscriptions: 'A job of the operator.',
  search_backfill: 'Of the installation.',
  sessions: 'Ways in belong to the installation.',
  sign_in_links: 'Ways in belong to the installation.',
  sign_in_mails: 'Ways in belong to the installation.',
  storage_keys: 'An archive has the audio as it was uploaded; each installation encrypts it under keys of its own.',
  transcription_shares: 'What the account has had of the engines of this installation.',
};

/** A table with all its columns, for an archive. */
export interface ArchivedTable extends AccountTable {
  columns: readonly string[];
}

/**
 * The tables of an archive: those of the core, and those of extensions that have an `account_id`. SQL, because the
 * catalogue of Postgres tells it.
 */
export async function selectArchivedTables(runner: SqlRunner): Promise<ArchivedTable[]> {
  const found = await runner.query<{ name: string; columns: string[] }>(
    `SELECT c.oid::regclass::text AS name, array_agg(a.attname::text ORDER BY a.attnum) AS columns
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid) AND c.relname ~ '^[a-z_][a-z0-9_]*$' AND a.attnum > 0 AND NOT a.attisdropped
       AND a.attgenerated = '' AND c.relnamespace <> ALL (ARRAY['pg_catalog', 'information_schema']::regnamespace[])
     GROUP BY c.oid ORDER BY 1`,
  );
  const columnsOf = new Map(found.map(({ name, columns }) => [name, columns]));
  const core = TABLES.map((table) => ({ ...table, columns: archivedColumns(table, columnsOf.get(table.name) ?? []) }));
  const known = new Set([...TABLES.map(({ name }) => name), ...Object.keys(NOT_ARCHIVED)]);
  const added = found
    .filter(({ name, columns }) => !known.has(name) && columns.includes('account_id'))
    .map(({ name, columns }) => ({ name, columns, condition: OF_ACCOUNT }));
  return [...core, ...added];
}

const archivedColumns = ({ without = [] }: AccountTable, columns: readonly string[]): string[] =>
  columns.filter((column) => !without.includes(column));

/** Every table of the core, for the test that compares them with the catalogue. */
export const KNOWN_TABLES: readonly string[] = [...TABLES.map(({ name }) => name), ...Object.keys(NOT_ARCHIVED)];

/** Rows of accounts in one of the tables. SQL, because the name of the table is data. */
export async function countArchivedRows(
  runner: SqlRunner,
  { name, condition }: AccountTable,
  accountIds: readonly string[],
): Promise<number> {
  const [row] = await runner.query<{ count: number }>(
    `SELECT count(*)::float8 AS count FROM ${name} t WHERE ${condition}`,
    [accountIds],
  );
  return row?.count ?? 0;
}
