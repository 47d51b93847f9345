import { randomBytes, randomUUID } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { DiskObjectStore } from '../disk.object-store.js';
import { type ByteRange, ObjectNotFoundError, StorageUnavailableError } from '../file-system.js';
import { Spool } from '../spool.js';
import { encryptedKeyOf, plainKeyOf, readEncryptedKey } from './encrypted-key.js';
import { EncryptedObjectStore } from './encrypted.object-store.js';
import { CHUNK_BYTES, HEADER_BYTES, ObjectDamagedError, TAG_BYTES } from './object-format.js';

const STORED_CHUNK = CHUNK_BYTES + TAG_BYTES;
const MARKER = Buffer.from('a marker that no ciphertext has');

/** The keys of accounts in memory, made when they are first asked for. */
class Keys {
  readonly made = new Map<string, Buffer>();
  version = 1;

  async current(): Promise<number> {
    return this.version;
  }

  async keyOf({ accountId, version }: { accountId: string; version: number }): Promise<Buffer> {
    const name = `${accountId}/${version}`;
    const key = this.made.get(name) ?? randomBytes(32);
    this.made.set(name, key);
    return key;
  }
}

describe('EncryptedObjectStore', () => {
  let folder: string;
  let spool: Spool;
  let raw: DiskObjectStore;
  let keys: Keys;
  let store: EncryptedObjectStore;
  let key: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'encrypted-'));
    spool = new Spool(join(folder, 'spool'));
    await spool.prepare();
    raw = new DiskObjectStore(join(folder, 'objects'), 'bucket');
    await raw.prepare();
    keys = new Keys();
    store = new EncryptedObjectStore(raw, keys, spool, true);
    key = await store.keyFor(plainKey());
  });

  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  const plainKey = (account = 'account'): string => `${account}/2026/11/${randomUUID()}.webm`;
  const pathOf = (of: string): string => join(folder, 'objects', of);
  const bytesOf = async (stream: Readable): Promise<Buffer> => Buffer.concat(await stream.toArray());
  const read = async (of: string, range?: ByteRange): Promise<Buffer> => await bytesOf(await store.read(of, range));
  const copyOf = async (of: string): Promise<Buffer> => await store.withFile(of, (file) => readFile(file));

  async function put(audio: Buffer, under = key, into = store): Promise<Buffer> {
    const file = await spool.create();
    try {
      await file.write(audio);
      await into.put(under, file);
    } finally {
      await file.discard();
    }
    return audio;
  }

  /** Both ways to read the whole. */
  async function expectDamaged(of = key): Promise<void> {
    await expect(copyOf(of)).rejects.toThrow(ObjectDamagedError);
    await expect(read(of)).rejects.toThrow(/damaged|has only/);
  }

  async function change(edit: (stored: Buffer) => Buffer, of = key): Promise<void> {
    await writeFile(pathOf(of), edit(await readFile(pathOf(of))));
  }

  it('names the version of the account in the key', async () => {
    const plain = plainKey('a-1');
    keys.version = 12;
    const encrypted = await store.keyFor(plain);
    expect(encrypted).toBe(plain.replace('a-1/', 'a-1/k12/'));
    expect(readEncryptedKey(encrypted)).toEqual({ accountId: 'a-1', version: 12 });
    expect(plainKeyOf(encrypted)).toBe(plain);
    expect(readEncryptedKey(plain)).toBeNull();
    keys.version = 13;
    expect(await store.keyFor(encrypted)).toBe(encryptedKeyOf(plain, 13));
  });

  it.each([
    0,
    1,
    CHUNK_BYTES - 1,
    CHUNK_BYTES,
    CHUNK_BYTES + 1,
    2 * CHUNK_BYTES,
    16 * CHUNK_BYTES,
    16 * CHUNK_BYTES + 1,
    33 * CHUNK_BYTES + 17,
  ])('gives back %d bytes, whole and as a file', async (size) => {
    const audio = await put(randomBytes(size));
    expect((await read(key)).equals(audio)).toBe(true);
    expect((await copyOf(key)).equals(audio)).toBe(true);
    const chunks = Math.max(1, Math.ceil(size / CHUNK_BYTES));
    expect((await readFile(pathOf(key))).length).toBe(HEADER_BYTES + size + chunks * TAG_BYTES);
    expect(await readdir(join(folder, 'spool'))).toEqual([]);
  });

  it('gives the same ranges as the audio has, at all borders', async () => {
    const size = 3 * CHUNK_BYTES + 100;
    const audio = await put(randomBytes(size));
    const borders = [0, 1, CHUNK_BYTES, 2 * CHUNK_BYTES, 3 * CHUNK_BYTES, size];
    const near = borders.flatMap((at) => [at - 1, at, at + 1]).filter((at) => at >= 0 && at < size);
    let compared = 0;
    for (const start of new Set(near)) {
      for (const end of new Set(near)) {
        if (end < start) continue;
        expect((await read(key, { start, end })).equals(audio.subarray(start, end + 1))).toBe(true);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(60);
    await expect(read(key, { start: 0, end: size })).rejects.toThrow(StorageUnavailableError);
  });

  it('stores nothing of the audio in clear, and the same audio never twice the same', async () => {
    const audio = Buffer.concat(Array.from({ length: 5000 }, () => MARKER));
    await put(audio);
    const other = await store.keyFor(plainKey());
    await put(audio, other);
    const stored = await Promise.all([key, other].map((of) => readFile(pathOf(of))));
    expect(stored.map((bytes) => bytes.includes(MARKER.subarray(0, 8)))).toEqual([false, false]);
    const [first, second] = stored.map((bytes) => bytes.subarray(HEADER_BYTES, HEADER_BYTES + 64));
    expect(first?.equals(second as Buffer)).toBe(false);
  });

  it('detects one changed byte in each part', async () => {
    await put(randomBytes(2 * CHUNK_BYTES + 50));
    const whole = await readFile(pathOf(key));
    const parts = [
      ...Array.from({ length: HEADER_BYTES }, (_, at) => at),
      HEADER_BYTES,
      HEADER_BYTES + CHUNK_BYTES - 1,
      HEADER_BYTES + CHUNK_BYTES,
      HEADER_BYTES + STORED_CHUNK - 1,
      HEADER_BYTES + STORED_CHUNK,
      HEADER_BYTES + 2 * STORED_CHUNK,
      whole.length - TAG_BYTES - 1,
      whole.length - TAG_BYTES,
      whole.length - 1,
    ];
    for (const at of parts) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] as number) ^ 1;
      await writeFile(pathOf(key), changed);
      await expectDamaged();
    }
    await writeFile(pathOf(key), whole);
    expect(await copyOf(key)).toHaveLength(2 * CHUNK_BYTES + 50);
  });

  it('gives nothing of a changed chunk, and the other chunks', async () => {
    const audio = await put(randomBytes(3 * CHUNK_BYTES));
    await change((stored) => {
      stored[HEADER_BYTES + STORED_CHUNK] = (stored[HEADER_BYTES + STORED_CHUNK] as number) ^ 1;
      return stored;
    });
    const first = { start: 0, end: CHUNK_BYTES - 1 };
    expect((await read(key, first)).equals(audio.subarray(0, CHUNK_BYTES))).toBe(true);
    await expect(read(key, { start: CHUNK_BYTES, end: CHUNK_BYTES })).rejects.toThrow(ObjectDamagedError);
    const stream = await store.read(key);
    const seen: Buffer[] = [];
    const reading = (async () => {
      for await (const part of stream) seen.push(part as Buffer);
    })();
    await expect(reading).rejects.toThrow(ObjectDamagedError);
    expect(Buffer.concat(seen).equals(audio.subarray(0, CHUNK_BYTES))).toBe(true);
  });

  it.each([1, 2, 3])('detects that an object of %d whole chunks was cut off or extended anywhere', async (chunks) => {
    await put(randomBytes(chunks * CHUNK_BYTES));
    const whole = await readFile(pathOf(key));
    const borders = Array.from({ length: chunks }, (_, i) => HEADER_BYTES + i * STORED_CHUNK);
    const cuts = borders.flatMap((at) => [at - 1, at, at + 1, at + TAG_BYTES, at + CHUNK_BYTES]);
    for (const length of [0, 1, ...cuts, whole.length - 1]) {
      await writeFile(pathOf(key), whole.subarray(0, length));
      await expectDamaged();
    }
    for (const added of [1, TAG_BYTES, STORED_CHUNK]) {
      await writeFile(pathOf(key), Buffer.concat([whole, whole.subarray(-added)]));
      await expect(copyOf(key)).rejects.toThrow(ObjectDamagedError);
    }
  });

  it('takes no shorter object for whole whose header was changed to its size', async () => {
    await put(randomBytes(2 * CHUNK_BYTES));
    await change((stored) => {
      stored.writeBigUInt64BE(BigInt(CHUNK_BYTES), 12);
      return stored.subarray(0, HEADER_BYTES + STORED_CHUNK);
    });
    await expectDamaged();
  });

  it('detects chunks that were swapped or repeated', async () => {
    await put(randomBytes(3 * CHUNK_BYTES));
    const whole = await readFile(pathOf(key));
    const [a, b, c] = [0, 1, 2].map((i) =>
      whole.subarray(HEADER_BYTES + i * STORED_CHUNK, HEADER_BYTES + (i + 1) * STORED_CHUNK),
    ) as [Buffer, Buffer, Buffer];
    for (const order of [
      [b, a, c],
      [a, c, b],
      [a, a, c],
      [c, c, c],
    ]) {
      await writeFile(pathOf(key), Buffer.concat([whole.subarray(0, HEADER_BYTES), ...order]));
      await expect(copyOf(key)).rejects.toThrow(ObjectDamagedError);
    }
  });

  it('takes no object for another, of the same account or of another one', async () => {
    await put(randomBytes(1000));
    for (const account of ['account', 'other']) {
      const moved = await store.keyFor(plainKey(account));
      await put(randomBytes(1000), moved);
      await copyFile(pathOf(key), pathOf(moved));
      await expectDamaged(moved);
    }
    keys.version = 2;
    const newer = await store.keyFor(plainKeyOf(key));
    await mkdir(dirname(pathOf(newer)), { recursive: true });
    await copyFile(pathOf(key), pathOf(newer));
    await expectDamaged(newer);
  });

  it('takes audio in clear for no encrypted object', async () => {
    await put(randomBytes(CHUNK_BYTES));
    await change(() => randomBytes(CHUNK_BYTES));
    await expectDamaged();
  });

  it('reads both kinds, whether new ones are encrypted or not', async () => {
    const off = new EncryptedObjectStore(raw, keys, spool, false);
    const plain = plainKey();
    expect(await off.keyFor(plain)).toBe(plain);
    expect(await off.keyFor(encryptedKeyOf(plain, 3))).toBe(plain);
    const clear = await put(randomBytes(1000), plain, off);
    const secret = await put(randomBytes(1000));
    expect((await readFile(pathOf(plain))).equals(clear)).toBe(true);
    for (const one of [store, off]) {
      for (const [of, audio] of [
        [plain, clear],
        [key, secret],
      ] as const) {
        expect((await bytesOf(await one.read(of))).equals(audio)).toBe(true);
        expect(await one.withFile(of, (file) => readFile(file))).toEqual(audio);
      }
    }
  });

  it('stores nothing while the key cannot be had', async () => {
    keys.keyOf = () => Promise.reject(new StorageUnavailableError('no key'));
    await expect(put(randomBytes(10))).rejects.toThrow('no key');
    expect(await raw.countUnder('account')).toBe(0);
  });

  it('says that an object is not there', async () => {
    await expect(read(key)).rejects.toThrow(ObjectNotFoundError);
    await expect(copyOf(key)).rejects.toThrow(ObjectNotFoundError);
    await store.remove(key);
    expect(await readdir(join(folder, 'spool'))).toEqual([]);
  });

  it('frees the file when a reader leaves early, or is told to', async () => {
    await put(randomBytes(40 * CHUNK_BYTES));
    const opened = jest.spyOn(raw, 'read');
    const stream = await store.read(key);
    stream.destroy();
    const ended = new AbortController();
    const aborted = await store.read(key, undefined, ended.signal);
    const failed = new Promise((resolve) => aborted.once('error', resolve));
    ended.abort(new Error('the client has left'));
    await failed;
    await new Promise((resolve) => setImmediate(resolve));
    const streams = await Promise.all(opened.mock.results.map(({ value }) => value as Promise<Readable>));
    expect(streams).toHaveLength(4);
    expect(streams.map(({ destroyed }) => destroyed)).toEqual([true, true, true, true]);
  });
});
