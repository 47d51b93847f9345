import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { StorageUnavailableError } from './file-system.js';
import { Spool } from './spool.js';

const DAY = 86_400;
const HOST = hostname().replace(/[^\w.-]/g, '_');

describe('Spool', () => {
  let folder: string;
  let spool: Spool;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'spool-'));
    spool = new Spool(join(folder, 'spool'));
    await spool.prepare();
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  const files = () => readdir(join(folder, 'spool'));

  /** A file as another process would have left it, last written `ageSeconds` ago. */
  async function leftOver(owner: string, ageSeconds: number): Promise<string> {
    const path = join(folder, 'spool', `${owner}-${randomUUID()}`);
    await writeFile(path, 'x');
    await age(path, ageSeconds);
    return path;
  }

  async function age(path: string, seconds: number): Promise<void> {
    const then = new Date(Date.now() - seconds * 1000);
    await utimes(path, then, then);
  }

  function deadPid(): number {
    return spawnSync(process.execPath, ['-e', '']).pid;
  }

  it('creates files that only this user can read, named after host and process', async () => {
    const file = await spool.create();
    expect((await stat(file.path)).mode & 0o777).toBe(0o600);
    expect((await files())[0]).toMatch(new RegExp(`^${HOST}-${process.pid}-[0-9a-f-]{36}$`));
    await file.discard();
  });

  it('appends, and can be read at any position meanwhile', async () => {
    const file = await spool.create();
    await file.write(Buffer.from('hello '));
    await file.write(Buffer.from('world'));
    const { buffer } = await file.handle.read(Buffer.alloc(5), 0, 5, 6);
    expect(buffer.toString()).toBe('world');
    await file.write(Buffer.from('!'));
    expect(await readFile(file.path, 'utf8')).toBe('hello world!');
    expect(file.sizeBytes).toBe(12);
    await file.discard();
  });

  it('discards once, twice, and after the file was moved away', async () => {
    const file = await spool.create();
    await rename(file.path, join(folder, 'moved'));
    await file.discard();
    await file.discard();
    expect(await files()).toEqual([]);
    expect((await stat(join(folder, 'moved'))).isFile()).toBe(true);
  });

  it('reports a disk that cannot be written to', async () => {
    const file = await spool.create();
    await file.discard();
    await expect(file.write(Buffer.from('late'))).rejects.toThrow();
    await rm(join(folder, 'spool'), { recursive: true });
    await expect(spool.create()).rejects.toThrow(StorageUnavailableError);
    await expect(spool.sweep(DAY)).rejects.toThrow(StorageUnavailableError);
  });

  describe('sweep', () => {
    beforeEach(() => {
      jest.spyOn(Date, 'now').mockReturnValue(Date.now());
    });
    afterEach(() => jest.restoreAllMocks());

    it('removes the files of a dead process of this host', async () => {
      await leftOver(`${HOST}-${deadPid()}`, 20);
      expect(await spool.sweep(DAY)).toBe(1);
      expect(await files()).toEqual([]);
    });

    it('removes the files of an earlier process with the same pid, as after the restart of a container', async () => {
      await leftOver(`${HOST}-${process.pid}`, 20);
      expect(await spool.sweep(DAY)).toBe(1);
    });

    it.each([
      [14.9, 0],
      [15.1, 1],
    ])(
      'takes the file of a dead process that was written to %f seconds ago for abandoned: %d',
      async (seconds, removed) => {
        await leftOver(`${HOST}-${deadPid()}`, seconds);
        expect(await spool.sweep(DAY)).toBe(removed);
      },
    );

    it('keeps files of other hosts for as long as it is told, to the second', async () => {
      await leftOver('other-host-1', 98.5);
      expect(await spool.sweep(99)).toBe(0);
      expect(await spool.sweep(98)).toBe(1);
    });

    it('keeps a file that has just been written to', async () => {
      await leftOver(`${HOST}-${deadPid()}`, 1);
      expect(await spool.sweep(DAY)).toBe(0);
    });

    it('keeps a file in use by this process, also when another spool opened it or it is old', async () => {
      const file = await spool.create();
      await age(file.path, 2 * DAY);
      expect(await new Spool(join(folder, 'spool')).sweep(DAY)).toBe(0);
      await file.discard();
    });

    it('keeps files of living processes and of other hosts until they are old', async () => {
      const living = await leftOver(`${HOST}-${process.ppid}`, 3600);
      const elsewhere = await leftOver(`other-host-${deadPid()}`, 3600);
      expect(await spool.sweep(DAY)).toBe(0);
      await age(living, DAY + 10);
      await age(elsewhere, DAY + 10);
      expect(await spool.sweep(DAY)).toBe(2);
    });

    it('keeps files with other names', async () => {
      await leftOver('', 2 * DAY);
      await writeFile(join(folder, 'spool', 'README'), '');
      await age(join(folder, 'spool', 'README'), 2 * DAY);
      expect(await spool.sweep(DAY)).toBe(0);
    });
  });
});
