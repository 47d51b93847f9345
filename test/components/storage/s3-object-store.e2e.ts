import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ObjectNotFoundError, StorageUnavailableError } from '../../../src/platform/storage/file-system.js';
import { S3ObjectStore } from '../../../src/platform/storage/s3.object-store.js';
import { Spool, type SpoolFile } from '../../../src/platform/storage/spool.js';
import { FakeS3 } from '../../support/servers/fake-s3.mjs';

const KEY = 'tenant-1/2026/11/recording-1.webm';
const BYTES = randomBytes(3_000_000);

describe('objects in S3', () => {
  let folder: string;
  let s3: FakeS3;
  let store: S3ObjectStore;
  let files: SpoolFile[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 's3-store-'));
    await new Spool(join(folder, 'uploads')).prepare();
    files = [];
    s3 = await FakeS3.start();
    store = await open();
  });

  afterEach(async () => {
    store.onApplicationShutdown();
    await s3.stop();
    for (const file of files) await file.discard();
    await rm(folder, { recursive: true, force: true });
  });

  async function open(
    changes: { endpoint?: string; bucket?: string } = {},
    timeouts = { connect: 1000, call: 2500, transfer: 5000 },
  ): Promise<S3ObjectStore> {
    const spool = new Spool(join(folder, 'spool'));
    await spool.prepare();
    const settings = {
      s3Endpoint: changes.endpoint ?? s3.url,
      s3Region: 'us-east-1',
      s3Bucket: changes.bucket ?? s3.bucket,
      s3AccessKeyId: 'test-key-id',
      s3SecretAccessKey: 'test-secret-key',
    };
    return new S3ObjectStore(settings, spool, timeouts);
  }

  async function upload(bytes = BYTES): Promise<SpoolFile> {
    const file = await new Spool(join(folder, 'uploads')).create();
    files.push(file);
    await file.write(bytes);
    return file;
  }

  const read = (path: string) => readFile(path);
  const spooled = () => readdir(join(folder, 'spool'));

  it('stores the very bytes of the file, with their length and without chunk signatures', async () => {
    await store.put(KEY, await upload());
    expect(s3.objects.get(KEY)?.equals(BYTES)).toBe(true);
    const headers = s3.requests[0]?.headers;
    expect(headers?.['content-length']).toBe(String(BYTES.length));
    expect(headers?.['content-encoding']).toBeUndefined();
    expect(headers?.['x-amz-trailer']).toBeUndefined();
    expect(headers?.authorization).toContain('AWS4-HMAC-SHA256 Credential=test-key-id/');
  });

  it('sends nothing before the key is reserved, and nothing when it cannot be', async () => {
    let reserve = (): void => undefined;
    const put = store.put(KEY, await upload(), new Promise((resolve) => (reserve = resolve)));
    await delay(200);
    expect(s3.requests).toEqual([]);
    reserve();
    await put;
    expect(s3.objects.size).toBe(1);
    await expect(store.put(KEY, await upload(), Promise.reject(new Error('no database')))).rejects.toThrow(
      'no database',
    );
    expect(s3.requests).toHaveLength(1);
  });

  it('hands out a private local copy and clears it away', async () => {
    await store.put(KEY, await upload());
    const copy = await store.withFile(KEY, async (path) => {
      expect((await stat(path)).mode & 0o077).toBe(0);
      return await read(path);
    });
    expect(copy.equals(BYTES)).toBe(true);
    expect(await spooled()).toEqual([]);
  });

  it('clears the copy away when its user fails', async () => {
    await store.put(KEY, await upload());
    await expect(store.withFile(KEY, () => Promise.reject(new TypeError('decoder')))).rejects.toThrow(TypeError);
    expect(await spooled()).toEqual([]);
  });

  it('takes an empty object for what it is', async () => {
    s3.objects.set(KEY, Buffer.alloc(0));
    expect(await store.withFile(KEY, read)).toHaveLength(0);
  });

  it('removes an object, and does not mind one that is not there', async () => {
    s3.objects.set(KEY, BYTES);
    await store.remove(KEY);
    await store.remove(KEY);
    expect(s3.objects.size).toBe(0);
  });

  it('counts and removes what is under a prefix, on every page of the listing, and nothing beside it', async () => {
    const keys = Array.from({ length: 5 }, (_, i) => `one/2026/${i}.wav`);
    for (const key of [...keys, 'one-more/2026/0.wav', KEY]) s3.objects.set(key, BYTES);
    expect(await store.countUnder('one')).toBe(5);
    expect(await store.removeUnder('one')).toBe(5);
    expect([...s3.objects.keys()]).toEqual(['one-more/2026/0.wav', KEY]);
  });

  it('distinguishes a missing object from a missing bucket', async () => {
    await expect(store.withFile(KEY, read)).rejects.toThrow(ObjectNotFoundError);
    const other = await open({ bucket: 'other' });
    await expect(other.withFile(KEY, read)).rejects.toThrow(StorageUnavailableError);
    await expect(other.check()).rejects.toThrow(StorageUnavailableError);
    expect(await spooled()).toEqual([]);
  });

  it('sends a file again when the server is overloaded', async () => {
    s3.meet('broken', 'broken');
    await store.put(KEY, await upload());
    expect(s3.objects.get(KEY)?.equals(BYTES)).toBe(true);
    expect(s3.requests).toHaveLength(3);
  });

  it('gives up after three attempts', async () => {
    s3.meet('broken', 'broken', 'broken');
    await expect(store.put(KEY, await upload())).rejects.toThrow(/S3, storing: 503/);
    expect(s3.requests).toHaveLength(3);
  });

  it('does not repeat what is refused, and never shows the secret', async () => {
    s3.meet('refused');
    const refusal = store.put(KEY, await upload());
    await expect(refusal).rejects.toThrow(/^S3, storing: 403 AccessDenied(?!.*test-secret-key)/);
    await expect(refusal).rejects.toMatchObject({ mayArriveLate: false });
    expect(s3.requests).toHaveLength(1);
  });

  it('remembers what an attempt may have left when the next one is refused', async () => {
    s3.meet('broken', 'refused');
    await expect(store.put(KEY, await upload())).rejects.toMatchObject({ mayArriveLate: true });
    expect(s3.requests).toHaveLength(2);
  });

  it('does not wait for a silent server for ever', async () => {
    s3.meet(...Array<'silent'>(12).fill('silent'));
    const impatient = await open({}, { connect: 1000, call: 700, transfer: 1500 });
    const file = await upload();
    const answers = [impatient.put(KEY, file), impatient.withFile(KEY, read), impatient.check()];
    const errors = await Promise.all(answers.map((answer) => answer.catch((error: unknown) => error)));
    for (const error of errors) expect(error).toBeInstanceOf(StorageUnavailableError);
    // It may have been busy with the bytes: what it writes later must be removed.
    expect(errors[0]).toMatchObject({ mayArriveLate: true });
    impatient.onApplicationShutdown();
  });

  it('never hands out half an object', async () => {
    s3.objects.set(KEY, BYTES);
    for (const mood of ['cut', 'unmeasured'] as const) {
      s3.meet(mood);
      await expect(store.withFile(KEY, read)).rejects.toThrow(StorageUnavailableError);
      expect(await spooled()).toEqual([]);
    }
  });

  it('reports that there is no server', async () => {
    const nowhere = await open({ endpoint: 'http://127.0.0.1:1' });
    await expect(nowhere.put(KEY, await upload())).rejects.toThrow(StorageUnavailableError);
    await expect(nowhere.check()).rejects.toThrow(/ECONNREFUSED/);
  });

  it('asks for the bucket to see whether it works', async () => {
    await store.check();
    expect(s3.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([`HEAD /${s3.bucket}/`]);
  });

  it('refuses keys that lead elsewhere', async () => {
    await expect(store.put('../x.wav', await upload())).rejects.toThrow('Invalid object key');
    await expect(store.withFile('../x.wav', read)).rejects.toThrow('Invalid object key');
    await expect(store.remove('../x.wav')).rejects.toThrow('Invalid object key');
  });
});
