import promises from 'node:fs/promises';
import { Logger } from '@nestjs/common';
import { Registry } from 'prom-client';
import type { Env } from '../config/env.js';
import { DiskSpaceService } from './disk-space.service.js';

describe('DiskSpaceService', () => {
  /** Bytes; null: the disk cannot be asked. */
  let free: number | null;
  let looks: unknown[];
  let lines: unknown[][];
  let registry: Registry;

  beforeEach(() => {
    jest.useFakeTimers();
    [free, looks, lines, registry] = [1000, [], [], new Registry()];
    jest.spyOn(promises, 'statfs').mockImplementation((async (path: string) => {
      looks.push(path);
      if (free === null) throw new Error('EIO');
      // Blocks that only root may use count in `bfree`.
      return { bavail: free / 10, bsize: 10, bfree: free, blocks: 1e9 };
    }) as never);
    for (const level of ['log', 'error'] as const) {
      jest.spyOn(Logger.prototype, level).mockImplementation((...line: unknown[]) => void lines.push([level, ...line]));
    }
  });

  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const serviceOf = (storageMinFreeBytes: number): DiskSpaceService =>
    new DiskSpaceService({ storageDir: '/data', storageMinFreeBytes } as Env, registry);

  it.each([
    [1000, 1000, true],
    [1000, 1001, false],
    [null, 1001, true],
    [0, 1, false],
  ])('with %s bytes free of at least %d there is room: %s', async (bytes, least, hasRoom) => {
    free = bytes;
    expect(await serviceOf(least).hasRoom()).toBe(hasRoom);
    expect(looks).toEqual(['/data']);
  });

  it('does not look where nothing has to be free', async () => {
    free = 0;
    expect(await serviceOf(0).hasRoom()).toBe(true);
    expect(looks).toEqual([]);
  });

  it('looks once a second', async () => {
    const space = serviceOf(500);
    await Promise.all([space.hasRoom(), space.hasRoom()]);
    free = 100;
    jest.advanceTimersByTime(999);
    expect(await space.hasRoom()).toBe(true);
    expect(looks).toHaveLength(1);
    jest.advanceTimersByTime(1);
    expect(await space.hasRoom()).toBe(false);
    expect(looks).toHaveLength(2);
  });

  it('says once that the disk is almost full, and once that it is not any more', async () => {
    const space = serviceOf(500);
    for (const bytes of [1000, 100, 200, 600, 700]) {
      free = bytes;
      jest.advanceTimersByTime(1001);
      await space.hasRoom();
    }
    expect(lines).toEqual([
      ['error', { free_bytes: 100, least_bytes: 500 }, 'storage almost full; uploads refused'],
      ['log', { free_bytes: 600 }, 'storage has room again'],
    ]);
  });

  it('shows the free bytes as a metric, and none when the disk does not answer', async () => {
    serviceOf(0);
    expect(await registry.metrics()).toContain('storage_free_bytes 1000\n');
    expect(await registry.metrics()).toContain('storage_size_bytes 10000000000\n');
    free = null;
    jest.advanceTimersByTime(1001);
    expect(await registry.metrics()).not.toMatch(/^storage_/m);
  });
});
