import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { stateFolder, writePrivately } from '../profiles/folders.js';

/** What makes two uploads the same one. */
export interface UploadIdentity {
  /** The service and the account there. */
  service: string;
  account: string;
  path: string;
  sha256: string;
  tags: Record<string, string> | undefined;
  language: string | undefined;
  languages?: string[] | undefined;
  vocabulary: string[] | undefined;
  channels: string | undefined;
  speakers?: 'auto' | number | undefined;
  /** Only where an option is given. */
  retention?: object;
}

export interface UploadRecord {
  path: string;
  sha256: string;
  idempotency_key: string;
  started_at: string;
  recording_id: string | null;
}

const KEPT_DAYS = 90;
const DAY_MS = 86_400_000;

/**
 * What was uploaded, and with which Idempotency-Key what was begun. The key is on disk before the first byte is sent: a
 * run after one that was killed repeats it, and the service answers with the recording that it has (D20). Each upload
 * has a file of its own, so that several runs do not overwrite each other's.
 */
export class UploadRecords {
  private readonly folder = join(stateFolder(), 'uploads');

  /** The record of an earlier run, or a new one. Its key follows from the identity, so that two runs at once agree. */
  async open(identity: UploadIdentity): Promise<UploadRecord> {
    return (await this.read(identity)) ?? newRecord(identity, `vnotes-${nameOf(identity)}`);
  }

  /** For an upload that is to be another recording. */
  renewed(identity: UploadIdentity): UploadRecord {
    return newRecord(identity, `vnotes-${randomUUID()}`);
  }

  async save(identity: UploadIdentity, record: UploadRecord): Promise<void> {
    await writePrivately(this.fileOf(identity), `${JSON.stringify(record)}\n`);
  }

  /** Removes records that nobody has used for long, and drafts of runs that were killed. */
  async prune(): Promise<void> {
    const names = await readdir(this.folder).catch(() => []);
    for (const name of names) {
      const file = join(this.folder, name);
      const found = await stat(file).catch(() => null);
      if (found && Date.now() - found.mtimeMs > KEPT_DAYS * DAY_MS) await rm(file, { force: true });
    }
  }

  private async read(identity: UploadIdentity): Promise<UploadRecord | null> {
    try {
      return JSON.parse(await readFile(this.fileOf(identity), 'utf8')) as UploadRecord;
    } catch {
      return null;
    }
  }

  private fileOf(identity: UploadIdentity): string {
    return join(this.folder, `${nameOf(identity)}.json`);
  }
}

function newRecord({ path, sha256 }: UploadIdentity, key: string): UploadRecord {
  return { path, sha256, idempotency_key: key, started_at: new Date().toISOString(), recording_id: null };
}

function nameOf(identity: UploadIdentity): string {
  const { service, account, path, sha256, tags, language, languages, vocabulary, channels } = identity;
  const { speakers, retention = {} } = identity;
  // Only where they are given, so that the names of earlier records stay.
  const isRetained = Object.values(retention).some((value) => value !== undefined);
  const more = [
    ...(languages ? [languages] : []),
    ...(isRetained ? [retention] : []),
    ...(speakers === undefined ? [] : [{ speakers }]),
  ];
  const text = JSON.stringify([service, account, path, sha256, tags, language, vocabulary, channels, ...more]);
  return createHash('sha256').update(text).digest('hex').slice(0, 40);
}
