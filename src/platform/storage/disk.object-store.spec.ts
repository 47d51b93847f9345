import promises, { chmod, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DiskObjectStore } from './disk.object-store.js';
import { ObjectNotFoundError, StorageUnavailableError } from './file-system.js';
import { Spool, type SpoolFile } from './spool.js';

const KEY = 'tenant-1/2026/11/recording-1.webm';

describe('DiskObjectStore', () => {
  let folder: string;
  let store: DiskObjectStore;
  let spool: Spool;
  let files: SpoolFile[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'disk-store-'));
    spool = new Spool(join(folder, 'spool'));
    await spool.prepare();
    files = [];
    store = new DiskObjectStore(join(folder, 'objects'), 'voice-notes');
    await store.prepare();
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    for (const file of files) await file.discard();
    await rm(folder, { recursive: true, force: true });
  });

  async function spoolFile(content = 'sound'): Promise<SpoolFile> {
    const file = await spool.create();
    files.push(file);
    await file.write(Buffer.from(content));
    return file;
  }

  /** The folders and files that are synced from now on, in order. */
  function watchSyncs(): string[] {
    const synced: string[] = [];
    const open = promises.open;
    jest.spyOn(promises, 'open').mockImplementation(async (...args) => {
      const handle = await open(...args);
      const sync = handle.sync.bind(handle);
      handle.sync = async () => {
        await sync();
        synced.push(String(args[0]));
      };
      return handle;
    });
    return synced;
  }

  it('stores a file under its key and gives it back', async () => {
    const file = await spoolFile();
    await store.put(KEY, file);
    await expect(stat(file.path)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await store.withFile(KEY, (path) => readFile(path, 'utf8'))).toBe('sound');
  });

  it('moves a file only when its bytes are on the disk and its key is reserved, and then syncs its folder', async () => {
    // Then only what the test holds back is waited for.
    await store.put('tenant-1/2026/11/recording-0.webm', await spoolFile());
    const file = await spoolFile();
    const steps: string[] = [];
    const log = (step: string) => steps.push(step);
    const move = file.moveTo.bind(file);
    jest.spyOn(file.handle, 'datasync').mockImplementation(async () => {
      await delay(60);
      log('synced');
    });
    jest.spyOn(file, 'moveTo').mockImplementation(async (target) => {
      log('moved');
      await move(target);
    });
    const synced = watchSyncs();
    await store.put(
      KEY,
      file,
      delay(30).then(() => void log('reserved')),
    );
    expect(steps).toEqual(['reserved', 'synced', 'moved']);
    expect(synced).toEqual([join(folder, 'objects/tenant-1/2026/11')]);
  });

  it('keeps nothing of a file whose key could not be reserved, or whose bytes could not be synced', async () => {
    await expect(store.put(KEY, await spoolFile(), Promise.reject(new Error('no database')))).rejects.toThrow(
      'no database',
    );
    const file = await spoolFile();
    const broken = Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'fdatasync' });
    jest.spyOn(file.handle, 'datasync').mockRejectedValue(broken);
    await expect(store.put(KEY, file)).rejects.toThrow('EIO');
    await expect(store.withFile(KEY, () => Promise.resolve())).rejects.toThrow(ObjectNotFoundError);
  });

  it('keeps nothing of a file whose folder could not be synced', async () => {
    const open = promises.open;
    await store.put('tenant-1/2026/11/recording-0.webm', await spoolFile());
    const file = await spoolFile();
    jest.spyOn(promises, 'open').mockImplementation(async (...args) => {
      const handle = await open(...args);
      handle.sync = () => Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'fsync' }));
      return handle;
    });
    await expect(store.put(KEY, file)).rejects.toThrow('EIO');
    await expect(store.withFile(KEY, () => Promise.resolve())).rejects.toThrow(ObjectNotFoundError);
  });

  it('syncs the folder after the move', async () => {
    await store.put('tenant-1/2026/11/recording-0.webm', await spoolFile());
    const file = await spoolFile();
    const synced = watchSyncs();
    const move = file.moveTo.bind(file);
    jest.spyOn(file, 'moveTo').mockImplementation(async (target) => {
      await move(target);
      synced.push('moved');
    });
    await store.put(KEY, file);
    expect(synced).toEqual(['moved', join(folder, 'objects/tenant-1/2026/11')]);
  });

  it('syncs the folder that an object was removed from, so that no power cut brings it back', async () => {
    await store.put(KEY, await spoolFile());
    const synced = watchSyncs();
    await store.remove(KEY);
    expect(synced).toEqual([join(folder, 'objects/tenant-1/2026/11')]);
  });

  it('syncs every new folder, from its parent up to the root', async () => {
    const synced = watchSyncs();
    await store.put(KEY, await spoolFile());
    for (const parent of ['objects', 'objects/tenant-1', 'objects/tenant-1/2026']) {
      expect(synced).toContain(join(folder, parent));
    }
  });

  it('lets no other user read objects or folders', async () => {
    await store.put(KEY, await spoolFile());
    expect((await stat(join(folder, 'objects', KEY))).mode & 0o077).toBe(0);
    expect((await stat(join(folder, 'objects/tenant-1'))).mode & 0o077).toBe(0);
  });

  it('stores many objects in one new folder at the same time', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `tenant-2/2026/11/r${i}.wav`);
    await Promise.all(names.map(async (key) => store.put(key, await spoolFile(key))));
    for (const key of names) expect(await store.withFile(key, (path) => readFile(path, 'utf8'))).toBe(key);
  });

  it('reports a missing object', async () => {
    await expect(store.withFile(KEY, () => Promise.resolve())).rejects.toThrow(ObjectNotFoundError);
  });

  it('reads up to the last byte of a range, and nothing of one that ends behind the file', async () => {
    await store.put(KEY, await spoolFile());
    const read = await store.read(KEY, { start: 1, end: 4 });
    expect(Buffer.concat(await read.toArray()).toString()).toBe('ound');
    await expect(store.read(KEY, { start: 1, end: 5 })).rejects.toThrow(StorageUnavailableError);
  });

  it('removes an object, and accepts that it does not exist', async () => {
    await store.put(KEY, await spoolFile());
    await store.remove(KEY);
    await expect(store.withFile(KEY, () => Promise.resolve())).rejects.toThrow(ObjectNotFoundError);
    await store.remove(KEY);
    await store.remove('never/seen/a/folder.wav');
  });

  it('passes on the errors of its caller', async () => {
    await store.put(KEY, await spoolFile());
    await expect(store.withFile(KEY, () => Promise.reject(new TypeError('decoder')))).rejects.toThrow(TypeError);
  });

  it('rejects keys that lead out of its folder', async () => {
    const file = await spoolFile();
    await expect(store.put('../escaped.wav', file)).rejects.toThrow('Invalid object key');
    await expect(store.remove('a/../../escaped.wav')).rejects.toThrow('Invalid object key');
    await expect(store.withFile('/etc/passwd', () => Promise.resolve())).rejects.toThrow('Invalid object key');
  });

  it('reports a disk that is not mounted as unavailable, never as empty', async () => {
    await store.put(KEY, await spoolFile());
    await rename(join(folder, 'objects'), join(folder, 'unmounted'));
    await expect(store.withFile(KEY, () => Promise.resolve())).rejects.toThrow(StorageUnavailableError);
    await expect(store.remove(KEY)).rejects.toThrow(StorageUnavailableError);
    await expect(store.put(KEY, await spoolFile())).rejects.toThrow(StorageUnavailableError);
    await expect(store.check()).rejects.toThrow(StorageUnavailableError);
    // Mounted again between the look for the object and that for the disk.
    const mount = jest.spyOn(promises, 'access').mockImplementationOnce(async () => {
      await rename(join(folder, 'unmounted'), join(folder, 'objects'));
    });
    await store.remove(KEY);
    mount.mockRestore();
    await expect(store.withFile(KEY, () => Promise.resolve())).rejects.toThrow(ObjectNotFoundError);
    await store.put(KEY, await spoolFile());
    await store.check();
    expect(await store.withFile(KEY, (path) => readFile(path, 'utf8'))).toBe('sound');
  });

  it('reports a disk that cannot be written to', async () => {
    // A file where the folder should be fails for root too, unlike a folder without write permission.
    await writeFile(join(folder, 'objects/tenant-1'), '');
    await expect(store.put(KEY, await spoolFile())).rejects.toThrow(StorageUnavailableError);
  });

  it('reports a folder without write permission', async () => {
    if (process.getuid?.() === 0) return;
    await chmod(join(folder, 'objects'), 0o500);
    await expect(store.check()).rejects.toThrow('EACCES');
    await chmod(join(folder, 'objects'), 0o700);
  });

  it('creates a folder again that was lost with its disk', async () => {
    await store.put(KEY, await spoolFile());
    await rm(join(folder, 'objects/tenant-1'), { recursive: true });
    await expect(store.put(KEY, await spoolFile())).rejects.toThrow(StorageUnavailableError);
    await store.put(KEY, await spoolFile('again'));
    expect(await store.withFile(KEY, (path) => readFile(path, 'utf8'))).toBe('again');
  });

  it('finds the objects of an earlier process', async () => {
    await store.put(KEY, await spoolFile());
    const later = new DiskObjectStore(join(folder, 'objects'), 'voice-notes');
    await later.prepare();
    expect(await later.withFile(KEY, (path) => readFile(path, 'utf8'))).toBe('sound');
  });

  it('creates its folder and the missing parents', async () => {
    const deep = new DiskObjectStore(join(folder, 'a/b/c/objects'), 'voice-notes');
    await deep.prepare();
    await mkdir(join(folder, 'a/b/c/objects/x'));
    await deep.check();
  });

  describe('the objects of an account', () => {
    const ACCOUNT = 'tenant-1';

    beforeEach(async () => {
      for (const key of [KEY, 'tenant-1/2026/12/b.wav', 'tenant-10/2026/11/c.wav']) {
        await store.put(key, await spoolFile());
      }
    });

    it('are counted, in all its folders and in no other', async () => {
      expect([await store.countUnder(ACCOUNT), await store.countUnder('tenant-10')]).toEqual([2, 1]);
      expect(await store.countUnder('tenant-2')).toBe(0);
    });

    it('are removed with their folders, and can be stored anew', async () => {
      const synced = watchSyncs();
      expect(await store.removeUnder(ACCOUNT)).toBe(2);
      expect(synced).toEqual([join(folder, 'objects')]);
      expect([await store.countUnder(ACCOUNT), await store.countUnder('tenant-10')]).toEqual([0, 1]);
      await expect(stat(join(folder, 'objects', ACCOUNT))).rejects.toMatchObject({ code: 'ENOENT' });
      expect(await store.removeUnder(ACCOUNT)).toBe(0);
      await store.put(KEY, await spoolFile());
      expect(await store.countUnder(ACCOUNT)).toBe(1);
    });

    it.each(['', '.', '..', 'a/b', 'a'.repeat(65)])('have a prefix that is one folder, unlike %j', async (prefix) => {
      await expect(store.countUnder(prefix)).rejects.toThrow('Invalid key prefix');
      await expect(store.removeUnder(prefix)).rejects.toThrow('Invalid key prefix');
    });

    it('are never counted as none on a disk that is not mounted', async () => {
      await rename(join(folder, 'objects'), join(folder, 'unmounted'));
      await expect(store.countUnder(ACCOUNT)).rejects.toThrow(StorageUnavailableError);
      await expect(store.removeUnder(ACCOUNT)).rejects.toThrow(StorageUnavailableError);
    });
  });
});
