import { Logger } from '@nestjs/common';
import type { DatabaseService } from '../../platform/database/database.service.js';
import { ApiKeyUsageService } from './api-key-usage.service.js';

const FLUSH_MS = 2000;
const START = new Date('2026-11-22T10:00:00Z').getTime();

describe('ApiKeyUsageService (D13)', () => {
  /** The uses that Postgres was given, by key, statement by statement. */
  let written: Record<string, number>[];
  /** When each key was used last, in the order of the writes. */
  let usedAt: Date[];
  /** What a write waits for. */
  let slow: Promise<void>;
  /** Called instead of a write that fails. */
  let failing: (() => void) | null;
  let usage: ApiKeyUsageService;

  beforeAll(() => Logger.overrideLogger(false));

  beforeEach(() => {
    jest.useFakeTimers({ now: START });
    written = [];
    slow = Promise.resolve();
    usedAt = [];
    failing = null;
    const query = async (_: string, [ids, counts, times]: [string[], number[], Date[]]) => {
      if (failing) {
        failing();
        throw new Error('no connection');
      }
      await slow;
      usedAt.push(...times);
      written.push(Object.fromEntries(ids.map((id, i) => [id, counts[i] as number])));
    };
    usage = new ApiKeyUsageService({ query } as unknown as DatabaseService);
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

  it('writes the uses of all keys together, and nothing while none is used', async () => {
    for (const key of ['a', 'b', 'a']) usage.count(key);
    await pass(FLUSH_MS - 1);
    expect(written).toEqual([]);
    await pass(1);
    expect(written).toEqual([{ a: 2, b: 1 }]);
    await pass(10 * FLUSH_MS);
    expect(written).toHaveLength(1);
  });

  it('adds what could not be written to the uses that come meanwhile', async () => {
    failing = () => usage.count('a');
    for (const key of ['a', 'a', 'b']) usage.count(key);
    await pass(FLUSH_MS);
    failing = null;
    usage.count('a');
    await pass(FLUSH_MS);
    expect(written).toEqual([{ a: 4, b: 1 }]);
  });

  it('writes what is left when the process stops', async () => {
    slow = new Promise((resolve) => void setTimeout(resolve, 100));
    usage.count('a');
    const stopped = usage.onApplicationShutdown();
    expect(jest.getTimerCount()).toBe(1);
    await pass(99);
    expect(written).toEqual([]);
    await pass(1);
    await stopped;
    expect(written).toEqual([{ a: 1 }]);
    await usage.onApplicationShutdown();
    expect(written).toHaveLength(1);
  });

  it('tells the last use of each key, also of those that could not be written before', async () => {
    usage.count('a');
    await pass(500);
    usage.count('a');
    usage.count('b');
    failing = () => undefined;
    await pass(FLUSH_MS - 500);
    failing = null;
    await pass(300);
    usage.count('b');
    await pass(FLUSH_MS);
    expect(written).toEqual([{ a: 2, b: 2 }]);
    expect(usedAt.map((time) => time.getTime() - START)).toEqual([500, FLUSH_MS + 300]);
  });

  it('tries again after 2 s by itself', async () => {
    failing = () => undefined;
    usage.count('a');
    await pass(FLUSH_MS);
    failing = null;
    await pass(FLUSH_MS - 1);
    expect(written).toEqual([]);
    await pass(1);
    expect(written).toEqual([{ a: 1 }]);
  });

  it('waits for the next 2 s with what comes after a write, and writes one batch after the other', async () => {
    usage.count('a');
    await pass(FLUSH_MS);
    await pass(FLUSH_MS / 2);
    usage.count('a');
    await pass(FLUSH_MS - 1);
    expect(written).toHaveLength(1);
    await pass(1);
    expect(written).toEqual([{ a: 1 }, { a: 1 }]);
  });
});
