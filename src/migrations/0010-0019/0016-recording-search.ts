import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A busy table is waited for briefly, so that requests do not queue behind the migration. */
const LOCK_TIMEOUT = `SET LOCAL lock_timeout = '5s'`;

/** Outside a transaction, so that uploads go on while it is built. An attempt that was broken off leaves an invalid index. */
const USER_INDEX = [
  'DROP INDEX CONCURRENTLY IF EXISTS recordings_account_user_idx',
  `CREATE INDEX CONCURRENTLY recordings_account_user_idx
     ON recordings (account_id, user_id, created_at DESC, id DESC) INCLUDE (status) WHERE user_id IS NOT NULL`,
];

/**
 * Rows over 2 kB keep everything long beside the table, because a search reads the rows of all matches. Terms carry
 * a mark of their account, so that the index needs no extension and no other account makes a search slower.
 */
const DOCUMENTS = [
  `CREATE TABLE IF NOT EXISTS search_documents (
     recording_id uuid CONSTRAINT search_documents_pkey PRIMARY KEY
       CONSTRAINT search_documents_recording_fkey REFERENCES recordings ON DELETE CASCADE,
     account_id uuid NOT NULL,
     created_at timestamptz NOT NULL,
     terms tsvector NOT NULL,
     folded text,
     text text,
     CONSTRAINT search_documents_text_check CHECK ((folded IS NULL) = (text IS NULL))
   ) WITH (toast_tuple_target = 128, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05)`,
  'ALTER TABLE search_documents ALTER terms SET STORAGE EXTERNAL, ALTER folded SET STORAGE EXTERNAL',
  // Without a list of pending entries, which every search would read and an unlucky writer would have to sort in.
  `CREATE INDEX IF NOT EXISTS search_documents_terms_idx ON search_documents USING gin (terms) WITH (fastupdate = off)`,
  // Recordings from before this migration are indexed by the reconciler, from the newest to the oldest. Twice, because
  // workers of the release before may still finish some.
  `CREATE TABLE IF NOT EXISTS search_backfill (
     id integer CONSTRAINT search_backfill_pkey PRIMARY KEY CONSTRAINT search_backfill_single_check CHECK (id = 1),
     before_id uuid,
     passes_left integer NOT NULL,
     next_at timestamptz NOT NULL
   )`,
  `INSERT INTO search_backfill (id, passes_left, next_at)
   SELECT 1, CASE WHEN EXISTS (SELECT 1 FROM recordings) THEN 2 ELSE 0 END, now() ON CONFLICT DO NOTHING`,
];

const DOWN = [
  LOCK_TIMEOUT,
  'DROP TABLE search_backfill',
  'DROP TABLE search_documents',
  'DROP INDEX recordings_account_user_idx',
];

/** What a search of the recordings reads. Steps can be repeated, because they do not share a transaction. */
export class RecordingSearch1764979200000 implements MigrationInterface {
  name = 'RecordingSearch1764979200000';
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of USER_INDEX) await runner.query(statement);
    await runner.startTransaction();
    try {
      for (const statement of [LOCK_TIMEOUT, ...DOCUMENTS]) await runner.query(statement);
      await runner.commitTransaction();
    } catch (error) {
      await runner.rollbackTransaction();
      throw error;
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
