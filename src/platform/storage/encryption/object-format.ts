import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { type ByteRange, ObjectNotFoundError } from '../file-system.js';
import type { SpoolFile } from '../spool.js';

/**
 * An encrypted object, as docs/decisions/0049 describes it: a header, then the audio in chunks of AES-256-GCM. The nonces
 * count the chunks and mark the last one (STREAM of Hoang, Reyhanitabar, Rogaway and Vizár, 2015). The key of each object
 * is derived from that of its account, a random salt, the header and the key of the object in the store.
 *
 * Header: magic 8, version of the account's key 4, size of the audio 8, salt 32, beginning of the nonces 7 bytes.
 */
const MAGIC = Buffer.from('VNOBJ\r\n\u0001', 'latin1');
const VERSION_AT = MAGIC.length;
const SIZE_AT = VERSION_AT + 4;
const SALT_AT = SIZE_AT + 8;
const NONCE_AT = SALT_AT + 32;
export const HEADER_BYTES = NONCE_AT + 7;

/** Bytes of audio in each chunk but the last. */
export const CHUNK_BYTES = 64 * 1024;
export const TAG_BYTES = 16;
const STORED_CHUNK_BYTES = CHUNK_BYTES + TAG_BYTES;
/** Chunks that are read and written at once. */
const BATCH = 16;
const KEY_BYTES = 32;
const CIPHER = 'aes-256-gcm';
const PURPOSE = 'voice-note-transcription object';

/** What is stored is not what was written. As good as lost, so that nobody waits for it. */
export class ObjectDamagedError extends ObjectNotFoundError {}

/** How one object is encrypted. */
export class ObjectCipher {
  private readonly chunks: number;

  private constructor(
    private readonly key: Buffer,
    private readonly header: Buffer,
    /** Bytes of the audio. */
    readonly size: number,
  ) {
    this.chunks = Math.max(1, Math.ceil(size / CHUNK_BYTES));
  }

  /** For a new object. @param objectKey its key in the store */
  static create(accountKey: Buffer, version: number, size: number, objectKey: string): ObjectCipher {
    const header = Buffer.alloc(HEADER_BYTES);
    MAGIC.copy(header);
    header.writeUInt32BE(version, VERSION_AT);
    header.writeBigUInt64BE(BigInt(size), SIZE_AT);
    randomBytes(HEADER_BYTES - SALT_AT).copy(header, SALT_AT);
    return new ObjectCipher(deriveKey(accountKey, header, objectKey), header, size);
  }

  /** For one with this header. @throws ObjectDamagedError */
  static open(accountKey: Buffer, version: number, header: Buffer, objectKey: string): ObjectCipher {
    const isWhole = header.length === HEADER_BYTES && header.subarray(0, MAGIC.length).equals(MAGIC);
    if (!isWhole || header.readUInt32BE(VERSION_AT) !== version) throw damaged(objectKey, 'its header is not one');
    const size = Number(header.readBigUInt64BE(SIZE_AT));
    if (!Number.isSafeInteger(size)) throw damaged(objectKey, 'its size is none');
    return new ObjectCipher(deriveKey(accountKey, header, objectKey), header, size);
  }

  /** Bytes of the whole object. */
  get storedBytes(): number {
    return HEADER_BYTES + this.size + this.chunks * TAG_BYTES;
  }

  /** Writes the whole object. `source` must have the size that was given. */
  async encrypt(source: SpoolFile, target: SpoolFile): Promise<void> {
    // Not larger than the audio: most notes are small, and untouched memory costs CPU, too.
    const input = Buffer.allocUnsafe(Math.min(BATCH * CHUNK_BYTES, this.size));
    for (let chunk = 0; chunk < this.chunks; chunk += BATCH) {
      const start = chunk * CHUNK_BYTES;
      const length = Math.min(input.length, this.size - start);
      await readFully(source, input, start, length);
      const sealed = chunk === 0 ? [this.header] : [];
      for (let i = chunk; i < Math.min(chunk + BATCH, this.chunks); i++) {
        const from = i * CHUNK_BYTES - start;
        sealed.push(...this.sealChunk(i, input.subarray(from, Math.min(from + CHUNK_BYTES, length))));
      }
      await target.write(Buffer.concat(sealed));
    }
  }

  /** Where the chunks lie in the object that hold a range of the audio. */
  storedRange({ start, end }: ByteRange): ByteRange {
    const storedEnd = HEADER_BYTES + (chunkAt(end) + 1) * STORED_CHUNK_BYTES;
    return {
      start: HEADER_BYTES + chunkAt(start) * STORED_CHUNK_BYTES,
      end: Math.min(storedEnd, this.storedBytes) - 1,
    };
  }

  /**
   * The audio of a range, from the bytes of `storedRange`.
   * @throws ObjectDamagedError, before anything of the damaged chunk was given
   */
  async *decrypt(stored: AsyncIterable<Uint8Array>, range: ByteRange, objectKey: string): AsyncGenerator<Buffer> {
    let chunk = chunkAt(range.start);
    const last = chunkAt(range.end);
    for await (const sealed of inChunks(stored)) {
      if (chunk > last) throw damaged(objectKey, 'it is longer than its header says');
      const start = chunk * CHUNK_BYTES;
      const audio = this.openChunk(chunk, sealed, objectKey);
      yield audio.subarray(Math.max(0, range.start - start), range.end - start + 1);
      chunk++;
    }
    if (chunk <= last) throw damaged(objectKey, 'it is shorter than its header says');
  }

  private sealChunk(chunk: number, audio: Buffer): Buffer[] {
    const cipher = createCipheriv(CIPHER, this.key, this.nonceOf(chunk), { authTagLength: TAG_BYTES });
    return [cipher.update(audio), cipher.final(), cipher.getAuthTag()];
  }

  private openChunk(chunk: number, sealed: Buffer, objectKey: string): Buffer {
    if (sealed.length < TAG_BYTES) throw damaged(objectKey, 'a chunk is cut off');
    const decipher = createDecipheriv(CIPHER, this.key, this.nonceOf(chunk), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    const audio = decipher.update(sealed.subarray(0, -TAG_BYTES));
    try {
      decipher.final();
    } catch {
      throw damaged(objectKey, `chunk ${chunk + 1} of ${this.chunks} was changed`);
    }
    return audio;
  }

  private nonceOf(chunk: number): Buffer {
    const nonce = Buffer.alloc(12);
    this.header.copy(nonce, 0, NONCE_AT);
    nonce.writeUInt32BE(chunk, 7);
    nonce[11] = chunk === this.chunks - 1 ? 1 : 0;
    return nonce;
  }
}

/** Without audio there is one chunk, too. */
const chunkAt = (position: number): number => Math.max(0, Math.floor(position / CHUNK_BYTES));

/** HKDF-SHA-256 (RFC 5869). */
function deriveKey(accountKey: Buffer, header: Buffer, objectKey: string): Buffer {
  const info = Buffer.concat([Buffer.from(PURPOSE), header, Buffer.from(objectKey)]);
  return Buffer.from(hkdfSync('sha256', accountKey, header.subarray(SALT_AT, NONCE_AT), info, KEY_BYTES));
}

const damaged = (objectKey: string, problem: string): ObjectDamagedError =>
  new ObjectDamagedError(`Object damaged: ${objectKey}: ${problem}`);

async function readFully({ handle }: SpoolFile, buffer: Buffer, position: number, length: number): Promise<void> {
  for (let done = 0; done < length;) {
    const { bytesRead } = await handle.read(buffer, done, length - done, position + done);
    if (bytesRead === 0) throw new Error('a spool file is shorter than it was written');
    done += bytesRead;
  }
}

/** The bytes in stored chunks; the last is what is left. Holds one chunk and one piece of the source. */
async function* inChunks(stored: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of stored) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes < STORED_CHUNK_BYTES) continue;
    let all = Buffer.concat(pieces);
    for (; all.length >= STORED_CHUNK_BYTES; all = all.subarray(STORED_CHUNK_BYTES)) {
      yield all.subarray(0, STORED_CHUNK_BYTES);
    }
    pieces = [all];
    bytes = all.length;
  }
  if (bytes > 0) yield Buffer.concat(pieces);
}
