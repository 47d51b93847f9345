import fc from 'fast-check';
import type { RedisService } from '../redis/redis.service.js';
import { RedisBuckets } from './redis-buckets.js';
import { LocalBuckets, type NamedBucket, tokenBucket } from './token-bucket.js';

/** Microseconds. */
const NOW = 1_700_000_000_000_000;

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
      const backlog = Math.max(this.fullAt.get(key) ?? 0, NOW) - NOW;
      return { key, refill, backlog, tokens: Math.floor((capacity * refill - backlog) / refill) };
    });
    const taken = Math.max(0, Math.min(given.at(-1) as number, ...buckets.map(({ tokens }) => tokens)));
    const after = buckets.map(({ key, refill, backlog }) => {
      if (taken > 0) this.fullAt.set(key, NOW + backlog + taken * refill);
      return backlog + taken * refill;
    });
    return [taken, after[0] as number, NOW, ...after.slice(1)];
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
        const local = new LocalBuckets(() => NOW);
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
