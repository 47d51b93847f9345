import { Client } from 'pg';
import { type DataSource, getMetadataArgsStorage, type MigrationInterface, type QueryRunner } from 'typeorm';
import { WaitingAccounts1795521700000 } from '../../src/migrations/0004-waiting-accounts.js';
import { migrationsOf } from '../../src/migrations/migrations.js';
import { Account } from '../../src/modules/account/account.entity.js';
import { ApiKey } from '../../src/modules/api-keys/api-key.entity.js';
import { LiveRecordingRow } from '../../src/modules/live/live-recording.entity.js';
import { Recording } from '../../src/modules/recordings/recording.entity.js';
import { SearchBackfill, SearchDocument } from '../../src/modules/recordings/search/search.entities.js';
import { TranscriptionShare } from '../../src/modules/recordings/leases/transcription-share.entity.js';
import { IdempotencyKey } from '../../src/modules/recordings/upload/idempotency.queries.js';
import {
  UsageBreakdown,
  UsageCounter,
  UsageCounterDelta,
} from '../../src/modules/recordings/usage-counters/usage-counters.entities.js';
import { Waveform } from '../../src/modules/recordings/waveform/waveform.entity.js';
import { Retranscription } from '../../src/modules/transcriptions/retranscription.entity.js';
import { Transcription } from '../../src/modules/transcriptions/transcription.entity.js';
import { EarlierTranscription } from '../../src/modules/transcriptions/transcription.entity.js';
import { Delivery, LoggedAttempt } from '../../src/modules/webhooks/deliveries/delivery.entity.js';
import { RemovedWebhook, Webhook } from '../../src/modules/webhooks/webhook.entity.js';
import { WebhookRedelivery } from '../../src/modules/webhooks/deliveries/delivery.entity.js';
import { EventSequence, WebhookEvent } from '../../src/modules/webhooks/events/webhook-event.entity.js';
import { ObjectRemoval } from '../../src/platform/storage/object-removal.entity.js';
import { readEnv } from '../../src/platform/config/env.js';
import { migrationDataSource } from '../../src/platform/database/data-source.js';
import { snakeCase } from '../../src/platform/database/statement-parts.js';
import {
  changeCatalog,
  changeInBatches,
  createIndexConcurrently,
  requireMigration,
} from '../../src/platform/database/migration-steps.js';
import { assertSchema, migrate } from '../../src/platform/database/schema.js';
import { eventually } from '../../src/testing/eventually.js';
import { useEnvironment } from '../../src/testing/test-environment.js';

const ENTITIES = [
  Account,
  ApiKey,
  Delivery,
  EarlierTranscription,
  EventSequence,
  IdempotencyKey,
  LiveRecordingRow,
  LoggedAttempt,
  ObjectRemoval,
  Recording,
  RemovedWebhook,
  Retranscription,
  SearchBackfill,
  SearchDocument,
  Transcription,
  TranscriptionShare,
  UsageBreakdown,
  UsageCounter,
  UsageCounterDelta,
  Waveform,
  Webhook,
  WebhookEvent,
  WebhookRedelivery,
];

class ChangesRecordings implements MigrationInterface {
  name = 'ChangesRecordings1999999999999';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE recordings ADD COLUMN changed integer');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE recordings DROP COLUMN changed');
  }
}

/** Expands, fills in and removes in the way that later migrations do. */
class Backfills implements MigrationInterface {
  name = 'Backfills1999999999998';
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeInBatches(
      runner,
      `WITH batch AS (SELECT id FROM notes WHERE id > $1 ORDER BY id LIMIT 1000),
         changed AS (UPDATE notes n SET text = text || '!' FROM batch b WHERE n.id = b.id AND text NOT LIKE '%!')
       SELECT max(id) AS last FROM batch`,
      0,
    );
    await createIndexConcurrently(runner, 'notes_text_idx', 'notes (text)');
    await requireMigration(runner, 'Unknown1999999999997');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DELETE FROM required_migrations');
  }
}

/** Columns, constraints, indexes, triggers and functions, as Postgres describes them. */
async function schemaOf(dataSource: DataSource): Promise<unknown[]> {
  return await dataSource.query(`
    SELECT 'column' AS kind, table_name || '.' || column_name AS name, data_type || is_nullable AS definition
      FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT 'constraint', conname, pg_get_constraintdef(oid) FROM pg_constraint
      WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
    UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'function', proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    ORDER BY 1, 2, 3`);
}

describe('migrations', () => {
  const environment = useEnvironment();
  let dataSource: DataSource;

  beforeAll(async () => {
    dataSource = await migrationDataSource(readEnv(environment.variables), migrationsOf([])).initialize();
  });

  afterAll(async () => {
    await dataSource?.destroy();
  });

  it('those after the first can be undone and run again, and give the same schema', async () => {
    const latest = await schemaOf(dataSource);
    const later = migrationsOf([]).slice(1);
    for (const _ of later) await dataSource.undoLastMigration();
    await expect(migrate(dataSource)).resolves.toEqual(later.map(({ name }) => name));
    expect(await schemaOf(dataSource)).toEqual(latest);
  });

  it('mark the accounts whose recordings were in the queue before, more than a batch of them (D33)', async () => {
    const runner = dataSource.createQueryRunner();
    const migration = new WaitingAccounts1795521700000();
    await migration.down(runner);
    await runner.query(
      `INSERT INTO accounts (id, name, email, status, plan, created_at, updated_at)
       SELECT gen_random_uuid(), CASE i WHEN 1 THEN 'done' WHEN 2 THEN 'failed' WHEN 3 THEN 'background' WHEN 4 THEN 'idle'
         WHEN 5 THEN 'leased' WHEN 6 THEN 'again' ELSE 'waits' END, '', 'active', 'free', now(), now()
       FROM generate_series(1, 2100) i`,
    );
    await runner.query(
      `INSERT INTO recordings (id, account_id, original_filename, object_key, bucket, duration_ms, file_size_bytes,
         audio_format, upload_source, status, features, failure_reason, processed_at, rerun, rerun_at, lease_until,
         created_at, updated_at)
       SELECT gen_random_uuid(), id, 'a.wav', gen_random_uuid(), 'b', 1, 1, 'wav', 'api', s.status,
         CASE WHEN s.status = 'transcribed' THEN '{}'::jsonb END, CASE WHEN s.status = 'failed' THEN 'x' END,
         CASE WHEN s.status <> 'processing' THEN now() END, s.rerun, CASE WHEN s.rerun IS NOT NULL THEN now() END,
         CASE WHEN name = 'leased' THEN now() END, now(), now()
       FROM accounts CROSS JOIN LATERAL (SELECT
         CASE WHEN name IN ('leased', 'waits') THEN 'processing' WHEN name = 'failed' THEN name ELSE 'transcribed' END
           AS status,
         CASE name WHEN 'again' THEN 'requested' WHEN 'background' THEN name END AS rerun) s
       WHERE name <> 'idle'`,
    );
    await migration.up(runner);
    const marked = await runner.query(
      `SELECT a.name, count(*)::int AS count FROM transcription_shares s JOIN accounts a ON a.id = s.account_id
       WHERE is_waiting GROUP BY 1 ORDER BY 1`,
    );
    expect(marked).toEqual([
      { name: 'again', count: 1 },
      { name: 'leased', count: 1 },
      { name: 'waits', count: 2094 },
    ]);
    await runner.query('DELETE FROM accounts');
    await runner.release();
  });

  it('that wait for a table, as behind pg_dump, let the requests for it pass, and tell the operator', async () => {
    const env = readEnv(environment.variables);
    const waiting = migrationDataSource(env, [...migrationsOf([]), ChangesRecordings], { lockTimeoutMs: 300 });
    await waiting.initialize();
    const dump = new Client({ connectionString: env.databaseUrl });
    await dump.connect();
    try {
      await dump.query('BEGIN; LOCK TABLE recordings IN ACCESS SHARE MODE');
      const messages: string[] = [];
      const migrated = migrate(waiting, { onWait: (message) => messages.push(message) });
      await eventually(() => messages.length > 0);
      await dataSource.query(`SET statement_timeout = 1000; SELECT count(*) FROM recordings; RESET statement_timeout`);
      await dump.query('COMMIT');
      await expect(migrated).resolves.toEqual(['ChangesRecordings1999999999999']);
      expect(messages[0]).toMatch(/Another session holds a table/);

      await waiting.undoLastMigration();
      await dump.query('BEGIN; LOCK TABLE recordings IN ACCESS SHARE MODE');
      await expect(migrate(waiting, { lockWaitMs: 0 })).rejects.toThrow(/pg_dump.*Run the command again/);
    } finally {
      await dump.end();
      await waiting.destroy();
    }
  });

  it('change large tables without a transaction, can be interrupted, and say which releases do not fit any more', async () => {
    const newer = migrationDataSource(readEnv(environment.variables), [...migrationsOf([]), Backfills]);
    await newer.initialize();
    try {
      await dataSource.query('CREATE TABLE notes (id integer PRIMARY KEY, text text NOT NULL)');
      await dataSource.query(`INSERT INTO notes SELECT n, 'a' FROM generate_series(1, 2500) n`);
      // Leaves an invalid index behind, as an attempt that was interrupted does.
      await dataSource.query('CREATE UNIQUE INDEX CONCURRENTLY notes_text_idx ON notes (text)').catch(() => undefined);
      const valid = `SELECT indisvalid FROM pg_index WHERE indexrelid = 'notes_text_idx'::regclass`;
      expect(await dataSource.query(valid)).toEqual([{ indisvalid: false }]);

      const holder = dataSource.createQueryRunner();
      await holder.startTransaction();
      await holder.query('SELECT FROM notes WHERE id = 1700 FOR UPDATE');
      const migrated = migrate(newer);
      await eventually(async () => {
        const [row] = await dataSource.query<{ count: string }[]>(`SELECT count(*) FROM notes WHERE text = 'a!'`);
        return row?.count === '1000';
      });
      await holder.rollbackTransaction();
      await holder.release();
      await expect(migrated).resolves.toEqual(['Backfills1999999999998']);
      expect(await dataSource.query(valid)).toEqual([{ indisvalid: true }]);
      expect(await dataSource.query('SELECT text, count(*)::int FROM notes GROUP BY 1')).toEqual([
        { text: 'a!', count: 2500 },
      ]);
      await expect(assertSchema(dataSource)).rejects.toThrow(/it lacks Unknown1999999999997/);
      await newer.undoLastMigration();
      await expect(assertSchema(dataSource)).resolves.toBeUndefined();
    } finally {
      await newer.destroy();
      await dataSource.query('DROP TABLE IF EXISTS notes');
    }
  });

  it('wait for a vacuum in a way that lets Postgres end it, and that no request waits behind', async () => {
    const changing = dataSource.createQueryRunner();
    const vacuum = new Client({ connectionString: environment.variables.DATABASE_URL });
    await vacuum.connect();
    await changing.query('CREATE TABLE notes (id integer PRIMARY KEY)');
    try {
      await vacuum.query('BEGIN; LOCK TABLE notes IN SHARE UPDATE EXCLUSIVE MODE');
      const changed = changeCatalog(changing, 'notes', ['ALTER TABLE notes ADD COLUMN text text']);
      // Postgres ends an autovacuum for those that wait for a second.
      await eventually(async () => {
        const waiting = await dataSource.query<{ mode: string }[]>(
          `SELECT mode FROM pg_locks WHERE relation = 'notes'::regclass AND NOT granted AND waitstart < now() - interval '1.2 s'`,
        );
        return waiting[0]?.mode === 'ShareUpdateExclusiveLock';
      });
      await dataSource.query('BEGIN; SET LOCAL lock_timeout = 50; INSERT INTO notes VALUES (1); COMMIT');
      await vacuum.query('ROLLBACK');
      await changed;
      expect(await dataSource.query('SELECT * FROM notes')).toEqual([{ id: 1, text: null }]);
      expect(await changing.query('SHOW lock_timeout')).toEqual(await dataSource.query('SHOW lock_timeout'));
    } finally {
      await Promise.all([changing.release(), vacuum.end()]);
      await dataSource.query('DROP TABLE notes');
    }
  });

  it('make the tables that the entities describe, column by column', async () => {
    const columns: { table: string; columns: string[] }[] = await dataSource.query(`
      SELECT table_name AS table, array_agg(column_name::text ORDER BY column_name::text COLLATE "C") AS columns
      FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT IN ('migrations', 'required_migrations') GROUP BY 1`);
    const storage = getMetadataArgsStorage();
    const described = ENTITIES.map((entity) => [
      storage.filterTables(entity)[0]?.name,
      storage
        .filterColumns(withParents(entity))
        .map(({ propertyName, options }) => options.name ?? snakeCase(propertyName))
        .toSorted(),
    ]);
    // Some tables have no entity: only SQL reads and writes them.
    expect(Object.fromEntries(columns.map(({ table, columns: found }) => [table, found]))).toMatchObject(
      Object.fromEntries(described),
    );
  });
});

/** A class and those that it extends. */
function withParents(entity: Function): Function[] {
  const parent = Object.getPrototypeOf(entity) as Function;
  return parent === Function.prototype ? [entity] : [entity, ...withParents(parent)];
}
