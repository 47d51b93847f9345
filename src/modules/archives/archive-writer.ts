import { createHash, hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Tx } from '../../platform/database/database.service.js';
import { ObjectNotFoundError, StorageUnavailableError } from '../../platform/storage/file-system.js';
import type { ObjectStore } from '../../platform/storage/object-store.js';
import {
  STORED_TEXTS,
  type StoredText,
  type TranscriptExportsService,
} from '../transcriptions/exports/transcript-exports.service.js';
import { type ArchivedTable, selectArchivedTables } from './account-tables.js';
import {
  ARCHIVE_FORMAT,
  MANIFEST,
  type Manifest,
  MAX_ROWS_BYTES,
  MAX_SUMS_BYTES,
  memberName,
  sumLine,
} from './archive-format.js';
import { paddingOf, TAR_END, tarHeader } from './tar.js';

/** Rows that are in memory at the same time. */
const FETCH = 20;
/** For a statement, which sorts all rows of a table before the first, and between two: storage may take its time. */
const PATIENCE_MS = 15 * 60 * 1000;

/** Takes the bytes of the archive in order. */
export type ArchiveSink = (bytes: Uint8Array) => Promise<void>;

/** The key that the audio of a recording has now, outside the snapshot; null when it is gone. */
export type PresentKey = (recordingId: string) => Promise<string | null>;

export interface ArchivedAccounts {
  accountId: string;
  testAccountId: string | null;
}

/** Writes all that an account and its test account have, as one tar file (docs/decisions/0041). */
export class ArchiveWriter {
  private sums = '';
  private sumsWritten = 0;

  /** @param tx has no statement before; the snapshot is that of the first one here */
  constructor(
    private readonly tx: Tx,
    private readonly store: ObjectStore,
    private readonly texts: TranscriptExportsService,
    private readonly sink: ArchiveSink,
    private readonly createdAt: Date,
    private readonly presentKey: PresentKey,
  ) {}

  async write(accounts: ArchivedAccounts, signal: AbortSignal): Promise<void> {
    await this.tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    await this.tx.query(`SET LOCAL statement_timeout = ${PATIENCE_MS}`);
    await this.tx.query(`SET LOCAL idle_in_transaction_session_timeout = ${PATIENCE_MS}`);
    const tables = await selectArchivedTables(this.tx);
    const ids = [accounts.accountId, ...(accounts.testAccountId === null ? [] : [accounts.testAccountId])];
    await this.add(MANIFEST, Buffer.from(`${JSON.stringify(await this.manifestOf(accounts, tables), null, 2)}\n`));
    for (const table of tables) await this.addRows(table, ids, signal);
    await this.addTexts(ids, signal);
    await this.addAudio(ids, signal);
    await this.addSums();
    await this.sink(TAR_END);
  }

  private async manifestOf(
    { accountId, testAccountId }: ArchivedAccounts,
    tables: readonly ArchivedTable[],
  ): Promise<Manifest> {
    const migrations = await this.tx.query<{ name: string }>('SELECT name FROM migrations ORDER BY id');
    return {
      format: ARCHIVE_FORMAT,
      created_at: this.createdAt.toISOString(),
      account_id: accountId,
      test_account_id: testAccountId,
      migrations: migrations.map(({ name }) => name),
      tables: tables.map(({ name, columns }) => ({ name, columns: [...columns] })),
    };
  }

  /** As Postgres writes them, so that no type loses anything. */
  private async addRows(table: ArchivedTable, ids: readonly string[], signal: AbortSignal): Promise<void> {
    const { name, condition, order, without = [] } = table;
    // Rows are sorted as they are, and not as JSON, which takes ten times as long.
    const sorted = `SELECT t.* FROM ${name} t WHERE ${condition}${order ? ` ORDER BY ${order}` : ''}`;
    const sql = `SELECT (to_jsonb(t) - $2::text[])::text AS line FROM (${sorted}) t`;
    let lines: Buffer[] = [];
    let bytes = 0;
    let members = 0;
    const flush = async (): Promise<void> => {
      if (bytes === 0) return;
      await this.add(memberName.rows(name, ++members), Buffer.concat(lines));
      [lines, bytes] = [[], 0];
    };
    for await (const { line } of this.rows<{ line: string }>(sql, [ids, without], signal)) {
      const encoded = Buffer.from(`${line}\n`);
      if (bytes + encoded.length > MAX_ROWS_BYTES) await flush();
      lines.push(encoded);
      bytes += encoded.length;
    }
    await flush();
  }

  private async addTexts(ids: readonly string[], signal: AbortSignal): Promise<void> {
    for await (const row of this.rows<StoredText>(STORED_TEXTS, [ids], signal)) {
      for await (const { file, text } of this.texts.filesOf(row)) {
        await this.add(memberName.text(row.recordingId, file), Buffer.from(text));
      }
    }
  }

  private async addAudio(ids: readonly string[], signal: AbortSignal): Promise<void> {
    const sql = `SELECT id, object_key AS key, file_size_bytes AS size, audio_format AS format FROM recordings
      WHERE account_id = ANY ($1) AND audio_deleted_at IS NULL AND file_size_bytes > 0 ORDER BY created_at, id`;
    for await (const audio of this.rows<StoredAudio>(sql, [ids], signal)) await this.addObject(audio, signal);
  }

  /** Audio that was deleted since the snapshot, or lost, is left out. */
  private async addObject(audio: StoredAudio, signal: AbortSignal): Promise<void> {
    const source = await this.open(audio, signal);
    if (!source) return;
    const { id, size, format } = audio;
    const name = memberName.audio(id, format);
    const sum = createHash('sha256');
    await this.sink(tarHeader({ name, size }, this.createdAt));
    let written = 0;
    for await (const chunk of source as AsyncIterable<Uint8Array>) {
      sum.update(chunk);
      await this.sink(chunk);
      written += chunk.length;
    }
    if (written !== size) throw new StorageUnavailableError('an object has another size than recorded');
    await this.sink(paddingOf(size));
    await this.note(sumLine(sum.digest('hex'), name));
  }

  /** Also of audio that has another key since the snapshot: the object of before is removed after an hour. */
  private async open(audio: StoredAudio, signal: AbortSignal): Promise<Readable | null> {
    try {
      return await this.store.read(audio.key, { start: 0, end: audio.size - 1 }, signal);
    } catch (error) {
      if (!(error instanceof ObjectNotFoundError)) throw error;
      const key = await this.presentKey(audio.id);
      return key === null || key === audio.key ? null : await this.open({ ...audio, key }, signal);
    }
  }

  private async add(name: string, content: Buffer): Promise<void> {
    await this.put(name, content);
    await this.note(sumLine(hash('sha256', content, 'hex'), name));
  }

  private async put(name: string, content: Buffer): Promise<void> {
    const size = content.length;
    await this.sink(tarHeader({ name, size }, this.createdAt));
    await this.sink(content);
    await this.sink(paddingOf(size));
  }

  private async note(line: string): Promise<void> {
    this.sums += line;
    if (this.sums.length > MAX_SUMS_BYTES) await this.addSums();
  }

  private async addSums(): Promise<void> {
    await this.put(memberName.sums(++this.sumsWritten), Buffer.from(this.sums));
    this.sums = '';
  }

  /** A few rows at a time. SQL, because TypeORM has no cursors. */
  private async *rows<Row>(sql: string, parameters: unknown[], signal: AbortSignal): AsyncGenerator<Row> {
    await this.tx.query(`DECLARE archived NO SCROLL CURSOR FOR ${sql}`, parameters);
    for (let rows: Row[] | null = null; !rows || rows.length === FETCH;) {
      signal.throwIfAborted();
      rows = await this.tx.patient<Row>(`FETCH ${FETCH} FROM archived`, PATIENCE_MS);
      yield* rows;
    }
    await this.tx.query('CLOSE archived');
  }
}

interface StoredAudio {
  id: string;
  key: string;
  size: number;
  format: string;
}
