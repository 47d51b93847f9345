import type { RedisService } from '../redis/redis.service.js';
import { TokenBucketStorage } from './token-bucket.storage.js';

const NOW = new Date('2026-11-22T10:00:00.900Z');
const NOW_SECONDS = Math.floor(NOW.getTime() / 1000);
const NOW_MICROSECONDS = NOW.getTime() * 1000;
/** The plan Free: 20 tokens, one every 6 s. */
const FREE = { ttl: 120_000, limit: 20 };
const TOKEN = 6_000_000;
const MINUTE_MS = 60_000;
const MINUTE_US = 60_000_000;

describe('TokenBucketStorage (D6)', () => {
  let sent: unknown[][];
  let answer: number[] | null;
  let storage: TokenBucketStorage;

  beforeEach(() => {
    jest.useFakeTimers({ now: NOW, doNotFake: ['nextTick'] });
    [sent, answer] = [[], null];
    const client = {
      defineCommand: () => undefined,
      takeTokens: async (...given: unknown[]) => {
        sent.push(given);
        return answer;
      },
    };
    const tryCommand = async (send: (to: typeof client) => unknown) => await send(client);
    storage = new TokenBucketStorage({ client, tryCommand } as unknown as RedisService);
  });

  afterEach(() => jest.useRealTimers());

  it('tells Redis the key, the capacity, the microseconds of a token, and how many to take', async () => {
    await storage.increment('a', FREE.ttl, FREE.limit);
    await storage.peek('a', FREE.ttl, FREE.limit);
    await storage.incrementBoth({ key: 'a', ...FREE }, { key: 'b', ttl: 60_000, limit: 5 });
    expect(sent).toEqual([
      [1, 'rate-limit:a', 20, TOKEN, 1],
      [1, 'rate-limit:a', 20, TOKEN, 0],
      [2, 'rate-limit:a', 'rate-limit:b', 20, TOKEN, 5, 12_000_000, 1],
    ]);
  });

  it('makes a record of what Redis answers', async () => {
    answer = [1, 3 * TOKEN, NOW_MICROSECONDS];
    expect(await storage.increment('a', FREE.ttl, FREE.limit)).toEqual({
      totalHits: 3,
      timeToExpire: 19,
      isBlocked: false,
      timeToBlockExpire: 1,
      tokensLeft: 17,
      fullAt: NOW_SECONDS + 19,
    });
    answer = [0, 19.5 * TOKEN, NOW_MICROSECONDS];
    expect(await storage.increment('a', FREE.ttl, FREE.limit)).toMatchObject({
      isBlocked: true,
      tokensLeft: 0,
      timeToBlockExpire: 3,
    });
  });

  it.each([
    ['both have a token', [1, TOKEN, 2 * TOKEN], [false, false]],
    ['the first is empty', [0, 20 * TOKEN, 2 * TOKEN], [true, false]],
    ['the second is empty', [0, TOKEN, 20 * TOKEN], [false, true]],
    ['both are empty', [0, 20 * TOKEN, 20 * TOKEN], [true, true]],
  ])('tells which of two buckets is empty: %s', async (_, [taken = 0, first = 0, second = 0], blocked) => {
    answer = [taken, first, NOW_MICROSECONDS, second];
    const records = await storage.incrementBoth({ key: 'a', ...FREE }, { key: 'b', ...FREE });
    expect(records.map(({ isBlocked }) => isBlocked)).toEqual(blocked);
    expect(records.map(({ tokensLeft }) => tokensLeft)).toEqual([20 - first / TOKEN, 20 - second / TOKEN]);
  });

  it('keeps the buckets in the process without Redis: takes one, looks at one, takes from both or none', async () => {
    const small = { ttl: 120_000, limit: 2 };
    const left = async (): Promise<number> => (await storage.peek('a', FREE.ttl, FREE.limit)).tokensLeft;
    expect((await storage.increment('a', FREE.ttl, FREE.limit)).tokensLeft).toBe(19);
    expect([await left(), await left()]).toEqual([19, 19]);
    for (const isBlocked of [false, false, true]) {
      const [own, shared] = await storage.incrementBoth({ key: 'b', ...small }, { key: 'a', ...FREE });
      expect([own.isBlocked, shared.isBlocked]).toEqual([isBlocked, false]);
    }
    expect(await left()).toBe(17);
    jest.setSystemTime(NOW.getTime() + 6000);
    expect(await left()).toBe(18);
  });
});

describe('TokenBucketStorage for two buckets', () => {
  it('tells which of two buckets is empty when Redis took from neither', async () => {
    const now = Date.now() * 1000;
    let answer = [0, MINUTE_US, now, 0];
    const redis = { client: { defineCommand: () => undefined }, tryCommand: async () => answer };
    const storage = new TokenBucketStorage(redis as unknown as RedisService);
    const take = async () => {
      const bucket = { ttl: MINUTE_MS, limit: 2 };
      const records = await storage.incrementBoth({ key: 'own', ...bucket }, { key: 'shared', ...bucket });
      return records.map(({ isBlocked }) => isBlocked);
    };
    expect(await take()).toEqual([true, false]);
    answer = [0, 0, now, MINUTE_US];
    expect(await take()).toEqual([false, true]);
    answer = [0, MINUTE_US, now, MINUTE_US];
    expect(await take()).toEqual([true, true]);
    answer = [1, MINUTE_US, now, MINUTE_US];
    expect(await take()).toEqual([false, false]);
  });
});
