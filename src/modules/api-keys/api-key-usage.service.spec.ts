import { Logger } from '@nestjs/common';
import type { DatabaseService } from '../../platform/database/database.service.js';
import { ApiKeyUsageService } from './api-key-usage.service.js';

const FLUSH_MS = 2000;

describe('ApiKeyUsageService (D13)', () => {
  /** The uses that Postgres was given, by key, statement by statement. */
  let written: Record<string, number>[];
  /** Called instead of a write that fails. */
  let failing: (() => void) | null;
  let usage: ApiKeyUsageService;

  beforeAll(() => Logger.overrideLogger(false));

  beforeEach(() => {
    jest.useFakeTimers();
    written = [];
    failing = null;
    const query = async (_: string, [ids, counts]: [string[], number[]]) => {
      if (failing) {
        failing();
        throw new Error('no connection');
      }
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
    usage.count('a');
    await usage.onApplicationShutdown();
    expect(written).toEqual([{ a: 1 }]);
  });
});
