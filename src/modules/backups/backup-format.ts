import { createHash, hash, randomBytes } from 'node:crypto';
import type { SpoolFile } from '../../platform/storage/spool.js';

export const BACKUP_FORMAT = 1;

/** A backup cannot be used. The message is a sentence. */
export class InvalidBackupError extends Error {
  override readonly name = 'InvalidBackupError';
}

/** A file of a backup, which says what its bytes are. */
export interface BackupFile {
  key: string;
  bytes: number;
  sha256: string;
}

/** The rows of one table, as COPY writes them: one gzip stream, cut into files. */
export interface BackedUpTable {
  /** Quoted where that is needed, as are the columns. */
  name: string;
  columns: string[];
  rows: number;
  files: BackupFile[];
}

/** Written last: without it a backup is not complete. */
export interface BackupManifest {
  format: typeof BACKUP_FORMAT;
  id: string;
  /** Of which installation: it stays when that is restored. */
  installation: string;
  /** What was committed before this time is in the backup. */
  at: string;
  finished_at: string;
  /** Identifies the SECRET_KEY without giving it away. */
  secret_key_id: string;
  migrations: string[];
  tables: BackedUpTable[];
  sequences: { name: string; value: string }[];
  objects: {
    count: number;
    bytes: number;
    /** Copied by this backup; the others were there. */
    copied: number;
    /** Of recordings that were deleted while the backup was made. */
    erased: number;
    /** Objects that the database names and the store does not have. */
    missing: number;
    /** Keys of the first 1,000 of them. */
    missing_keys: string[];
    /** Lists of the objects, in the order of their keys. */
    lists: BackupFile[];
  };
}

/** An object of a list of a backup. */
export interface ListedObject {
  key: string;
  recordingId: string;
  bytes: number;
  sha256: string;
}

export const lineOfObject = ({ key, recordingId, bytes, sha256 }: ListedObject): string =>
  `${[key, recordingId, bytes, sha256].join('\t')}\n`;

/** @throws InvalidBackupError */
export function objectOfLine(line: string): ListedObject {
  const [key, recordingId, bytes, sha256] = line.split('\t');
  if (!key || !recordingId || !bytes || !sha256) throw new InvalidBackupError('A list of objects is damaged.');
  return { key, recordingId, bytes: Number(bytes), sha256 };
}

/** Names sort by time. */
export function backupIdOf(at: Date): string {
  return `${compactTime(at)}-${randomBytes(3).toString('hex')}`;
}

/** Such as `20261128-213005017`, in milliseconds. */
const compactTime = (at: Date): string => at.toISOString().slice(0, 23).replaceAll(/[-:.]/g, '').replace('T', '-');

/** The time of a name that `compactTime` begins. */
export function timeOfName(name: string): Date {
  const [, year, month, day, hour, minute, second, ms] =
    /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)(\d{3})/.exec(name) ?? [];
  return new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
}

/** The checksum of what comes, in hexadecimal digits. @param copy gets it, too */
export async function sumOfChunks(
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  copy?: SpoolFile,
): Promise<string> {
  const sum = createHash('sha256');
  for await (const chunk of chunks) {
    sum.update(chunk);
    await copy?.write(chunk);
  }
  return sum.digest('hex');
}

const sumOf = (text: string): string => hash('sha256', text, 'hex');

export function serializeManifest(manifest: BackupManifest): string {
  return `${JSON.stringify({ manifest, sha256: sumOf(JSON.stringify(manifest)) })}\n`;
}

/** Without its manifest it counts as interrupted, and the next backup removes what is left of it. */
const damagedManifest = (id: string, cause?: unknown): InvalidBackupError =>
  new InvalidBackupError(
    `backups/${id}/manifest.json is damaged. Restore another backup; to make the next one, remove this file and add --full.`,
    { cause },
  );

/** @throws InvalidBackupError */
export function parseManifest(id: string, text: string): BackupManifest {
  let found: { manifest?: BackupManifest; sha256?: string } | null;
  try {
    found = JSON.parse(text) as typeof found;
  } catch (error) {
    throw damagedManifest(id, error);
  }
  const { manifest, sha256 } = found ?? {};
  if (!manifest || sha256 !== sumOf(JSON.stringify(manifest)) || manifest.id !== id) {
    throw damagedManifest(id);
  }
  if (manifest.format !== BACKUP_FORMAT) {
    throw new InvalidBackupError(
      `The backup ${id} has format ${String(manifest.format)}. Use the release that made it.`,
    );
  }
  return manifest;
}
