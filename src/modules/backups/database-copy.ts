import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import type { Env } from '../../platform/config/env.js';
import { MIGRATION_LOCK } from '../../platform/database/schema.js';
import { OBJECTS_LOCK } from '../../platform/storage/object-removals.service.js';
import type { BackupDestination } from './backup-destination.js';
import { type BackedUpTable, InvalidBackupError } from './backup-format.js';

/** Arbitrary: one backup, or restore, of a database at a time. */
const BACKUP_LOCK = 7_305_121;
const RETRY_MS = 1000;

/** Without the limits of the service: COPY of a large table takes long. */
export async function connect(env: Env): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: env.databaseUrl,
    application_name: 'voice-notes-backup',
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
  });
  // Without a listener a connection that breaks would end the process. The statement fails by itself.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

const NO_LIMITS = `SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0;
  SET LOCAL timezone = 'UTC'`;

/** Runs `work` while no other backup of this database runs. Its lock is that of a transaction without a snapshot. */
export async function asOnlyBackup<T>(env: Env, work: () => Promise<T>): Promise<T> {
  const holder = await connect(env);
  try {
    await holder.query(`BEGIN; ${NO_LIMITS}`);
    const { rows } = await holder.query<{ held: boolean }>(`SELECT pg_try_advisory_xact_lock(${BACKUP_LOCK}) AS held`);
    if (!rows[0]?.held) throw new InvalidBackupError('Another backup or restore of this database is in progress.');
    // What the rows of the snapshot name stays as it is. Waits for replacements of objects that are being committed.
    await holder.query(`SELECT pg_advisory_xact_lock(${OBJECTS_LOCK})`);
    return await work();
  } finally {
    await holder.end();
  }
}

interface Table {
  name: string;
  columns: string[];
}

/** What the database says of itself in the snapshot. */
export interface Snapshot {
  at: Date;
  installation: string;
  migrations: string[];
  /** In the order in which rows can be inserted. */
  tables: Table[];
}

/**
 * Runs `work` in a snapshot of the database. It reads with ACCESS SHARE locks, which only a change of the schema waits
 * for; and migrations wait before it, because they take a lock that is held here: so no request waits behind one.
 */
export async function inSnapshot<T>(
  env: Env,
  onWait: (message: string) => void,
  work: (client: pg.Client, snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const holder = await connect(env);
  const client = await connect(env);
  try {
    await lockMigrations(holder, onWait);
    await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${NO_LIMITS}`);
    return await work(client, await describe(client));
  } finally {
    await Promise.all([client.end(), holder.end()]);
  }
}

/** In turns, because a statement that waits would keep the building of an index waiting that holds the lock. */
async function lockMigrations(holder: pg.Client, onWait: (message: string) => void): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await holder.query(`BEGIN; ${NO_LIMITS}`);
    const { rows } = await holder.query<{ held: boolean }>(
      `SELECT pg_try_advisory_xact_lock_shared(${MIGRATION_LOCK}) AS held`,
    );
    if (rows[0]?.held) return;
    await holder.query('ROLLBACK');
    if (attempt === 1) onWait('A migration is in progress. Trying again every second.');
    await delay(RETRY_MS);
  }
}

/** Every table of the schema but TypeORM's, those of extensions too, and its columns that are not computed. */
const TABLES = `
  SELECT c.oid::regclass::text AS name, array_agg(quote_ident(a.attname) ORDER BY a.attnum) AS columns
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
  WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND pg_table_is_visible(c.oid) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    AND c.relpersistence = 'p' AND c.relname <> 'migrations'
    AND c.relnamespace <> ALL (ARRAY['pg_catalog', 'information_schema']::regnamespace[])
  GROUP BY c.oid ORDER BY c.relname`;

const REFERENCES = `
  SELECT conrelid::regclass::text AS name, confrelid::regclass::text AS referenced FROM pg_constraint
  WHERE contype = 'f' AND conrelid <> confrelid`;

async function describe(client: pg.Client): Promise<Snapshot> {
  // The start of the transaction, which is before its snapshot.
  const { rows: states } = await client.query<{ at: Date; installation: string }>(
    'SELECT now() AS at, installation_id::text AS installation FROM backup_state',
  );
  const [state] = states;
  if (!state) throw new InvalidBackupError('The table backup_state is empty.');
  const { rows: migrations } = await client.query<{ name: string }>('SELECT name FROM migrations ORDER BY "timestamp"');
  return { ...state, migrations: migrations.map(({ name }) => name), tables: await tablesInOrder(client) };
}

/** What others refer to comes first. */
export async function tablesInOrder(client: pg.Client): Promise<Table[]> {
  const { rows: tables } = await client.query<Table>(TABLES);
  const { rows: references } = await client.query<{ name: string; referenced: string }>(REFERENCES);
  const ordered: Table[] = [];
  const left = new Map(tables.map((table) => [table.name, table]));
  while (left.size > 0) {
    const free = [...left.values()].filter(
      ({ name }) => !references.some((one) => one.name === name && left.has(one.referenced)),
    );
    if (free.length === 0) {
      throw new InvalidBackupError(`Tables refer to each other in a circle: ${[...left.keys()].join(', ')}.`);
    }
    for (const table of free) left.delete(table.name);
    ordered.push(...free);
  }
  return ordered;
}

/** @returns what the manifest says of the table */
export async function writeTable(
  client: pg.Client,
  { name, columns }: Table,
  destination: BackupDestination,
  id: string,
): Promise<BackedUpTable> {
  const rows = client.query(copyTo(`COPY (SELECT ${columns.join(', ')} FROM ${name}) TO STDOUT`));
  const zipped = createGzip({ level: 1 });
  const copied = pipeline(rows, zipped);
  const keyOf = (part: number): string => `backups/${id}/rows-${fileNameOf(name)}-${String(part).padStart(5, '0')}.gz`;
  const [files] = await Promise.all([destination.writeParts(keyOf, zipped), copied]);
  return { name, columns, rows: rows.rowCount, files };
}

/** A quoted name may have any character. */
const fileNameOf = (table: string): string =>
  /^\w+$/.test(table) ? table : Buffer.from(table).toString('hex').slice(0, 200);

/** Values of a query as lines of text: no value may have a tab, a backslash or a line break. */
export async function* copiedLines(client: pg.Client, query: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of client.query(copyTo(`COPY (${query}) TO STDOUT`))) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() as string;
    yield* lines;
  }
}

/** Sequences are of no snapshot: they are read after the tables, and are ahead of these. */
export async function sequencesOf(client: pg.Client): Promise<{ name: string; value: string }[]> {
  const { rows } = await client.query<{ name: string; value: string }>(
    `SELECT format('%I.%I', schemaname, sequencename) AS name, last_value::text AS value FROM pg_sequences
     WHERE last_value IS NOT NULL AND schemaname = ANY (current_schemas(false)) ORDER BY 1`,
  );
  return rows;
}

/** Puts rows into a table that is empty. @throws InvalidBackupError when they are not as many as they were */
export async function readTable(
  client: pg.Client,
  { name, columns, rows, files }: BackedUpTable,
  destination: BackupDestination,
): Promise<void> {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (const { key } of files) yield* (await destination.read(key)) as AsyncIterable<Uint8Array>;
  }
  const sink = client.query(copyFrom(`COPY ${name} (${columns.join(', ')}) FROM STDIN`));
  await pipeline(chunks, createGunzip(), sink);
  if (sink.rowCount !== rows) {
    throw new InvalidBackupError(`${name} has ${sink.rowCount} rows instead of ${rows}.`);
  }
}
