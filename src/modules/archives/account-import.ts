import { isResourceId } from '../../platform/database/find-or-fail.js';
import type { DatabaseService, SqlRunner, Tx } from '../../platform/database/database.service.js';
import { assertObjectKey, type ObjectStore } from '../../platform/storage/object-store.js';
import { plainKeyOf } from '../../platform/storage/encryption/encrypted-key.js';
import type { StorageKeysService } from '../../platform/storage/encryption/storage-keys.service.js';
import type { Spool } from '../../platform/storage/spool.js';
import { type ArchivedTable, countArchivedRows, selectArchivedTables } from './account-tables.js';
import type { Manifest } from './archive-format.js';
import { type ArchiveMember, type ArchiveReader, InvalidArchiveError } from './archive-reader.js';

/** Audio that an import has stored goes after this time, unless its rows are there. */
const RESERVED_DAYS = 7;
/** Objects that are claimed by one statement. */
const CLAIMS = 1000;
/** Columns of objects in storage. */
const KEYS = ['object_key', 'reserved_key'];

interface StoredAudio {
  /** In the archive, and then in this installation. */
  key: string;
  size: number;
}

/** What an archive has, once it was found to be whole. */
interface Contents {
  rows: Record<string, number>;
  /** By the id of the recording. */
  audio: Map<string, StoredAudio>;
  /** Recordings of which the archive has the audio. */
  archived: Set<string>;
  /** Hashes of API keys and ciphertexts of webhooks, which say under which SECRET_KEY they were made. */
  secrets: { keys: string[]; webhooks: string[] };
}

/** What an import has done. */
export interface ImportResult {
  manifest: Manifest;
  rows: Record<string, number>;
  objects: number;
  /** Their audio was deleted while the archive was made, or lost before. */
  withoutAudio: number;
  secrets: Contents['secrets'];
}

type Row = Record<string, unknown>;

/** Reads the archive of an account into an installation that does not have this account (docs/decisions/0041). */
export class AccountImport {
  /** @param keys when this installation encrypts audio */
  constructor(
    private readonly database: DatabaseService,
    private readonly store: ObjectStore,
    private readonly spool: Spool,
    private readonly archive: ArchiveReader,
    private readonly keys: StorageKeysService | null,
  ) {}

  /** @throws InvalidArchiveError, after which nothing is left */
  async run(): Promise<ImportResult> {
    const manifest = await this.archive.manifest();
    const ids = accountIdsOf(manifest);
    await this.refuseKnown(ids);
    await this.refuseNewer(manifest);
    const tables = await this.tablesOf(manifest);
    const contents = await this.verify(ids, tables);
    const version = await this.keys?.prepare(ids);
    for (const audio of contents.audio.values()) audio.key = await this.store.keyFor(audio.key);
    await this.storeAudio(contents);
    await this.database.transact(async (tx) => {
      await tx.query('SET LOCAL idle_in_transaction_session_timeout = 0');
      await this.insertRows(tx, tables, version);
      await this.keys?.insertPrepared(tx);
      await this.compareRows(tx, tables, ids, contents);
      await claimObjects(tx, objectsOf(contents));
    });
    const { rows, audio, archived, secrets } = contents;
    return { manifest, rows, objects: archived.size, withoutAudio: audio.size - archived.size, secrets };
  }

  private async refuseKnown(ids: readonly string[]): Promise<void> {
    const known = await this.database.query<{ id: string }>('SELECT id FROM accounts WHERE id = ANY ($1)', [ids]);
    if (known[0]) throw new InvalidArchiveError(`This installation has the account ${known[0].id} already.`);
  }

  private async refuseNewer({ migrations }: Manifest): Promise<void> {
    const rows = await this.database.query<{ name: string }>('SELECT name FROM migrations');
    const known = new Set(rows.map(({ name }) => name));
    const unknown = migrations.find((name) => !known.has(name));
    if (unknown === undefined) return;
    throw new InvalidArchiveError(
      `The archive needs the migration ${quoted(unknown)}, which this database lacks. Upgrade this installation, or add ` +
        'the extension that brings it.',
    );
  }

  /** With the columns that the archive has of them. */
  private async tablesOf(manifest: Manifest): Promise<ArchivedTable[]> {
    const present = new Map((await selectArchivedTables(this.database)).map((table) => [table.name, table]));
    return manifest.tables.map(({ name, columns }) => {
      const table = present.get(name);
      if (!table) throw new InvalidArchiveError(`This installation archives no table ${quoted(name)}.`);
      const unknown = columns.find((column) => !table.columns.includes(column));
      if (unknown !== undefined) throw new InvalidArchiveError(`${name} has no column ${quoted(unknown)}.`);
      return { ...table, columns };
    });
  }

  /** Reads all of it, and changes nothing. */
  private async verify(ids: readonly string[], tables: readonly ArchivedTable[]): Promise<Contents> {
    const contents: Contents = {
      rows: Object.fromEntries(tables.map(({ name }) => [name, 0])),
      audio: new Map(),
      archived: new Set(),
      secrets: { keys: [], webhooks: [] },
    };
    for await (const member of this.archive.verified()) {
      if (member.kind === 'rows') {
        for (const line of await this.linesOf(member))
          checkRow(member.table, parseRow(member.name, line), ids, contents);
      } else if (member.kind === 'audio') checkAudio(member, contents);
    }
    return contents;
  }

  private async linesOf(member: ArchiveMember): Promise<string[]> {
    return (await this.archive.contentOf(member)).toString().split('\n').slice(0, -1);
  }

  /** Each is on the list of objects to remove before it is written. */
  private async storeAudio({ audio }: Contents): Promise<void> {
    for await (const member of this.archive.members()) {
      if (member.kind !== 'audio') continue;
      const { key } = audio.get(member.recordingId) as StoredAudio;
      await this.spool.withFile(async (file) => {
        for await (const chunk of this.archive.chunksOf(member)) await file.write(chunk);
        await this.store.put(key, file, reserve(this.database, key));
      });
    }
  }

  private async insertRows(tx: Tx, tables: readonly ArchivedTable[], version?: number): Promise<void> {
    const place = { bucket: this.store.bucket, version: version === undefined ? '' : `/k${version}` };
    const known = new Map(tables.map((table) => [table.name, table]));
    for await (const member of this.archive.members()) {
      if (member.kind !== 'rows') continue;
      const lines = await this.linesOf(member);
      await insertLines(tx, known.get(member.table) as ArchivedTable, lines, place);
    }
  }

  /** Rows that hang on what belongs to another account are not found again. */
  private async compareRows(
    tx: Tx,
    tables: readonly ArchivedTable[],
    ids: readonly string[],
    { rows }: Contents,
  ): Promise<void> {
    for (const table of tables) {
      const isOwn = (await countArchivedRows(tx, table, ids)) === rows[table.name];
      if (!isOwn || (await namesRecordingOfOthers(tx, table, ids))) {
        throw new InvalidArchiveError(`The archive has rows in ${table.name} that do not belong to its account.`);
      }
    }
  }
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, 100));

function accountIdsOf({ account_id: accountId, test_account_id: testId }: Manifest): string[] {
  const ids = testId === null ? [accountId] : [accountId, testId];
  if (!ids.every(isResourceId)) throw new InvalidArchiveError('manifest.json has no ids of accounts.');
  return ids;
}

function parseRow(name: string, line: string): Row {
  try {
    const row = JSON.parse(line) as unknown;
    if (typeof row === 'object' && row !== null && !Array.isArray(row)) return row as Row;
  } catch {
    // Below.
  }
  throw new InvalidArchiveError(`${name} has a line that is no JSON object.`);
}

/** Whose the row is, and where its objects lie. What it refers to is compared after the insert. */
function checkRow(table: string, row: Row, ids: readonly string[], contents: Contents): void {
  const known = contents.rows[table];
  if (typeof known !== 'number') throw new InvalidArchiveError(`manifest.json does not name the table ${table}.`);
  const owner = table === 'accounts' ? row.id : row.account_id;
  if (owner !== undefined && !ids.includes(owner as string)) {
    throw new InvalidArchiveError(`The archive has a row of another account in ${table}.`);
  }
  if (table === 'accounts' && row.test_of !== (row.id === ids[0] ? null : ids[0])) {
    throw new InvalidArchiveError('The archive has an account that is the test account of another one.');
  }
  for (const column of KEYS) {
    const key = row[column];
    if (typeof key === 'string' && !isOwnKey(key, ids)) {
      throw new InvalidArchiveError(`The archive has a row in ${table} whose ${column} is not that of its account.`);
    }
  }
  contents.rows[table] = known + 1;
  if (table === 'recordings') noteRecording(row, contents);
  if (table === 'api_keys') contents.secrets.keys.push(String(row.secret_hash));
  if (table === 'webhooks') contents.secrets.webhooks.push(String(row.encrypted_secret));
}

function isOwnKey(key: string, ids: readonly string[]): boolean {
  try {
    assertObjectKey(key);
  } catch {
    return false;
  }
  const [owner, folder] = plainKeyOf(key).split('/', 2);
  return ids.includes(owner as string) && folder !== 'exports';
}

function noteRecording(
  { id, object_key: key, file_size_bytes: size, audio_deleted_at: deletedAt }: Row,
  contents: Contents,
): void {
  if (typeof id !== 'string' || typeof key !== 'string' || typeof size !== 'number') {
    throw new InvalidArchiveError('The archive has a recording without id, object_key or file_size_bytes.');
  }
  if (size > 0 && (deletedAt === null || deletedAt === undefined)) contents.audio.set(id, { key, size });
}

function checkAudio(member: ArchiveMember & { kind: 'audio' }, { audio, archived }: Contents): void {
  const { recordingId, size, format, name } = member;
  const known = audio.get(recordingId);
  if (known?.size !== size || !known.key.endsWith(`.${format}`) || archived.has(recordingId)) {
    throw new InvalidArchiveError(`${name} is not the audio of a recording of the archive.`);
  }
  archived.add(recordingId);
}

const objectsOf = ({ audio, archived }: Contents): string[] =>
  Array.from(archived, (recordingId) => (audio.get(recordingId) as StoredAudio).key);

/** Of tables without a foreign key to recordings, too. SQL, because the name of the table is data. */
async function namesRecordingOfOthers(tx: Tx, table: ArchivedTable, ids: readonly string[]): Promise<boolean> {
  if (!table.columns.includes('recording_id')) return false;
  const found = await tx.query(
    `SELECT 1 FROM ${table.name} t JOIN recordings r ON r.id = t.recording_id
     WHERE ${table.condition} AND r.account_id <> ALL ($1) LIMIT 1`,
    [ids],
  );
  return found.length > 0;
}

/** SQL, because the clock of the database decides. */
async function reserve(runner: SqlRunner, key: string): Promise<void> {
  await runner.query(
    `INSERT INTO object_removals AS r (object_key, remove_after) VALUES ($1, now() + make_interval(days => $2))
     ON CONFLICT ON CONSTRAINT object_removals_pkey DO UPDATE SET attempts = 0, remove_after = excluded.remove_after`,
    [key, RESERVED_DAYS],
  );
}

/** SQL, because many keys are one parameter. */
async function claimObjects(tx: Tx, keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += CLAIMS) {
    const some = keys.slice(from, from + CLAIMS);
    const claimed = await tx.query(
      'DELETE FROM object_removals WHERE object_key = ANY ($1) AND attempts = 0 RETURNING 1',
      [some],
    );
    if (claimed.length !== some.length) {
      throw new InvalidArchiveError('The import took so long that audio was removed again, or its keys repeat.');
    }
  }
}

/** As it stands in the keys of encrypted objects (encrypted-key.ts). */
const KEY_IN_PLACE = `regexp_replace("object_key", '^([^/]+)(/k[0-9]+)?/', '\\1' || $3::text || '/')`;

/** SQL, because Postgres reads the rows as it wrote them. Bucket and version of the key are those of this installation. */
async function insertLines(
  tx: Tx,
  { name, columns }: ArchivedTable,
  lines: readonly string[],
  { bucket, version }: { bucket: string; version: string },
): Promise<void> {
  const names = columns.map((column) => `"${column}"`).join(', ');
  const isPlaced = name === 'recordings';
  const placed: Record<string, string> = isPlaced ? { bucket: '$2::text', object_key: KEY_IN_PLACE } : {};
  const values = columns.map((column) => placed[column] ?? `"${column}"`).join(', ');
  // A person who came with another account stays as this installation knows them.
  const conflict = name === 'people' ? 'ON CONFLICT (id) DO NOTHING' : '';
  try {
    await tx.query(
      `INSERT INTO ${name} (${names}) SELECT ${values} FROM jsonb_populate_recordset(NULL::${name}, $1::jsonb) ${conflict}`,
      [`[${lines.join(',')}]`, ...(isPlaced ? [bucket, version] : [])],
    );
  } catch (error) {
    throw new InvalidArchiveError(`The rows of ${name} cannot be inserted: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}
