import { createHash, hash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import {
  ARCHIVE_FORMAT,
  type Manifest,
  MANIFEST,
  MAX_ROW_BYTES,
  MAX_ROWS_BYTES,
  MAX_SUMS_BYTES,
  type MemberKind,
  memberKind,
  sumLine,
} from './archive-format.js';
import { BLOCK_BYTES, paddingOf, readTarHeader, TAR_END, type TarMember } from './tar.js';

/** Bytes that are read at once. */
const CHUNK = 256 * 1024;
const MAX_MANIFEST_BYTES = 1024 * 1024;
/** A line of checksums is added to those before, if these have not reached their limit. */
const MAX_SUMS_MEMBER = MAX_SUMS_BYTES + 1024;
const MAX_ROWS_MEMBER = Math.max(MAX_ROWS_BYTES, MAX_ROW_BYTES);

/** The archive is not as an export writes it. The message is a sentence. */
export class InvalidArchiveError extends Error {
  override readonly name = 'InvalidArchiveError';
}

/** A member, and where its content begins. */
export type ArchiveMember = TarMember & { start: number } & Exclude<MemberKind, { kind: 'sums' }>;

/** An archive in a local file, read in order. What it says is not trusted. */
export class ArchiveReader {
  private constructor(private readonly handle: FileHandle) {}

  static async open(path: string): Promise<ArchiveReader> {
    return new ArchiveReader(await open(path));
  }

  async close(): Promise<void> {
    await this.handle.close();
  }

  /** @throws InvalidArchiveError when it has none, or is newer than this release */
  async manifest(): Promise<Manifest> {
    const member = await this.memberAt(0);
    if (member?.name !== MANIFEST || member.size > MAX_MANIFEST_BYTES) {
      throw new InvalidArchiveError('This file is no export of an account: it does not begin with manifest.json.');
    }
    return parseManifest((await this.contentOf(member)).toString());
  }

  /**
   * All members but the checksums, which are compared. Each is read twice, if the caller reads it.
   * @throws InvalidArchiveError
   */
  async *verified(): AsyncGenerator<ArchiveMember> {
    let expected = '';
    for await (const member of this.members()) {
      if (member.kind === 'sums') {
        if ((await this.contentOf(member)).toString() !== expected) {
          throw new InvalidArchiveError(`The checksums of ${member.name} are others. The archive is damaged.`);
        }
        expected = '';
        continue;
      }
      expected += sumLine(await this.sumOf(member), member.name);
      if (expected.length > MAX_SUMS_MEMBER) throw new InvalidArchiveError('The archive lacks checksums.');
      yield member;
    }
    if (expected !== '') throw new InvalidArchiveError('The archive lacks checksums at its end.');
  }

  /** In their order. @throws InvalidArchiveError */
  async *members(): AsyncGenerator<TarMember & { start: number } & MemberKind> {
    for (let at = 0; ;) {
      const found = await this.memberAt(at);
      if (!found) {
        if (!(await this.endsAt(at))) throw new InvalidArchiveError('The archive does not end where it should.');
        return;
      }
      const kind = memberKind(found.name);
      if (!kind) throw new InvalidArchiveError(`The archive has a file that no export has: ${quoted(found.name)}.`);
      if (found.size > maxSizeOf(kind)) throw new InvalidArchiveError(`${found.name} is too large.`);
      yield { ...found, ...kind };
      at = found.start + found.size + paddingOf(found.size).length;
    }
  }

  /** Of a member that fits into memory. */
  async contentOf({ start, size }: Pick<ArchiveMember, 'start' | 'size'>): Promise<Buffer> {
    const content = Buffer.allocUnsafe(size);
    for (let done = 0; done < size;) {
      const { bytesRead } = await this.handle.read(content, done, size - done, start + done);
      if (bytesRead === 0) throw new InvalidArchiveError('The archive is cut off.');
      done += bytesRead;
    }
    return content;
  }

  async *chunksOf({ start, size }: Pick<ArchiveMember, 'start' | 'size'>): AsyncGenerator<Buffer> {
    for (let done = 0; done < size; done += CHUNK) {
      yield await this.contentOf({ start: start + done, size: Math.min(CHUNK, size - done) });
    }
  }

  private async sumOf(member: ArchiveMember): Promise<string> {
    if (member.size <= CHUNK) return hash('sha256', await this.contentOf(member), 'hex');
    const sum = createHash('sha256');
    for await (const chunk of this.chunksOf(member)) sum.update(chunk);
    return sum.digest('hex');
  }

  /** Null at the end. */
  private async memberAt(at: number): Promise<(TarMember & { start: number }) | null> {
    const header = await this.contentOf({ start: at, size: BLOCK_BYTES });
    try {
      const member = readTarHeader(header);
      return member && { ...member, start: at + BLOCK_BYTES };
    } catch (error) {
      throw new InvalidArchiveError(`The archive has at byte ${at} ${(error as Error).message}.`, { cause: error });
    }
  }

  private async endsAt(at: number): Promise<boolean> {
    const { size } = await this.handle.stat();
    return size === at + TAR_END.length && (await this.contentOf({ start: at, size: TAR_END.length })).equals(TAR_END);
  }
}

function maxSizeOf(kind: MemberKind): number {
  if (kind.kind === 'manifest') return MAX_MANIFEST_BYTES;
  if (kind.kind === 'sums') return MAX_SUMS_MEMBER;
  return kind.kind === 'rows' ? MAX_ROWS_MEMBER : Infinity;
}

const quoted = (name: string): string => JSON.stringify(name.slice(0, 100));

const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((name) => typeof name === 'string');

function parseManifest(text: string): Manifest {
  let manifest: Partial<Manifest>;
  try {
    manifest = JSON.parse(text) as Partial<Manifest>;
  } catch (error) {
    throw new InvalidArchiveError('manifest.json is not JSON.', { cause: error });
  }
  const { format, account_id: accountId, test_account_id: testId, migrations, tables } = manifest;
  if (typeof format === 'number' && format > ARCHIVE_FORMAT) {
    throw new InvalidArchiveError(
      `The archive has format ${format}; this release reads ${ARCHIVE_FORMAT}. Upgrade this installation first.`,
    );
  }
  const isWhole =
    format === ARCHIVE_FORMAT &&
    typeof accountId === 'string' &&
    (testId === null || typeof testId === 'string') &&
    isNames(migrations) &&
    Array.isArray(tables) &&
    tables.every((table) => typeof table?.name === 'string' && isNames(table.columns));
  if (!isWhole) throw new InvalidArchiveError('manifest.json is not that of an export.');
  return manifest as Manifest;
}
