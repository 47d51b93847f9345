import fc from 'fast-check';
import type { RedisService } from '../redis/redis.service.js';
import { LocalBuckets, type NamedBucket, tokenBucket } from './token-bucket.js';
import { RedisBuckets, TokenBucketStorage } from './token-bucket.storage.js';

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

/** Microseconds. */
const REDIS_NOW = 1_700_000_000_000_000;

/** Does what the script in Redis does, at a time that stands still, and counts the commands. */
class FakeRedis {
  readonly fullAt = new Map<string, number>();
  readonly commands: unknown[][] = [];
  isAvailable = true;
  readonly client = {
    defineCommand: () => undefined,
    takeTokens: async (...given: (string | number)[]) => this.take(given),
  };

  async tryCommand<T>(send: (client: unknown) => Promise<T>): Promise<T | null> {
    return this.isAvailable ? await send(this.client) : null;
  }

  private take(given: (string | number)[]): number[] {
    this.commands.push(given);
    const count = given[0] as number;
    const keys = given.slice(1, count + 1) as string[];
    const sizes = given.slice(count + 1, -1) as number[];
    const buckets = keys.map((key, i) => {
      const [capacity, refill] = sizes.slice(2 * i, 2 * i + 2) as [number, number];
      const backlog = Math.max(this.fullAt.get(key) ?? 0, REDIS_NOW) - REDIS_NOW;
      return { key, refill, backlog, tokens: Math.floor((capacity * refill - backlog) / refill) };
    });
    const taken = Math.max(0, Math.min(given.at(-1) as number, ...buckets.map(({ tokens }) => tokens)));
    const after = buckets.map(({ key, refill, backlog }) => {
      if (taken > 0) this.fullAt.set(key, REDIS_NOW + backlog + taken * refill);
      return backlog + taken * refill;
    });
    return [taken, after[0] as number, REDIS_NOW, ...after.slice(1)];
  }
}

describe('RedisBuckets (D6)', () => {
  const small: NamedBucket = { name: 'small', bucket: tokenBucket(2, 60_000) };
  const large: NamedBucket = { name: 'large', bucket: tokenBucket(5, 60_000) };
  let redis: FakeRedis;
  let buckets: RedisBuckets;

  beforeEach(() => {
    redis = new FakeRedis();
    buckets = new RedisBuckets(redis as unknown as RedisService);
  });

  it('gives requests that share a command the states that they would have got one after the other', async () => {
    const anyBucket = fc
      .record({ capacity: fc.integer({ min: 1, max: 6 }), ms: fc.integer({ min: 1, max: 100_000 }) })
      .map(({ capacity, ms }) => tokenBucket(capacity, ms));
    const anyTakes = fc.tuple(anyBucket, anyBucket).chain(([a, b]) => {
      const [first, second] = [
        { name: 'a', bucket: a },
        { name: 'b', bucket: b },
      ];
      return fc.record({
        // One after the other first, so that the buckets are not full.
        before: fc.array(fc.constantFrom([first], [first, second]), { maxLength: 3 }),
        shared: fc.constantFrom<NamedBucket[]>([first], [first, second], [second, first]),
        requests: fc.integer({ min: 1, max: 9 }),
      });
    });
    await fc.assert(
      fc.asyncProperty(anyTakes, async ({ before, shared, requests }) => {
        redis = new FakeRedis();
        buckets = new RedisBuckets(redis as unknown as RedisService);
        const local = new LocalBuckets(() => REDIS_NOW);
        for (const named of before) expect(await buckets.takeFromAll(named)).toEqual(local.takeFromAll(named, 1));
        const sent = redis.commands.length;
        const answers = await Promise.all(Array.from({ length: requests }, () => buckets.takeFromAll(shared)));
        expect(answers).toEqual(answers.map(() => local.takeFromAll(shared, 1)));
        expect(redis.commands).toHaveLength(sent + 1);
        expect(await buckets.peek(shared)).toEqual(local.takeFromAll(shared, 0));
      }),
    );
  });

  it('sends a command for each bucket, size and pair of buckets', async () => {
    const lowered: NamedBucket = { name: 'large', bucket: tokenBucket(4, 60_000) };
    const takes = [[small], [large], [lowered], [small, large], [large, small], [small]];
    const states = await Promise.all(takes.map((named) => buckets.takeFromAll(named)));
    expect(states.map((each) => each?.length)).toEqual(takes.map((named) => named.length));
    expect(redis.commands.map((given) => given.at(-1))).toEqual([2, 1, 1, 1, 1]);
  });

  it('shares nothing with requests of a later turn', async () => {
    const first = buckets.takeFromAll([large]);
    await new Promise((resolve) => setImmediate(resolve));
    const second = buckets.takeFromAll([large]);
    expect([(await first)?.[0]?.tokensLeft, (await second)?.[0]?.tokensLeft]).toEqual([4, 3]);
    expect(redis.commands).toHaveLength(2);
  });

  it('says nothing of any request when Redis does not answer', async () => {
    redis.isAvailable = false;
    expect(await Promise.all([buckets.takeFromAll([small]), buckets.takeFromAll([large])])).toEqual([null, null]);
    expect(await buckets.peek([small])).toBeNull();
  });
});
