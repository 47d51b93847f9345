import { CredentialCache, type Versioned } from './credential-cache.js';

const START = new Date('2026-11-22T10:00:00Z');

describe('CredentialCache', () => {
  /** Reads that Postgres has not answered yet. */
  let reads: { id: string; answer: (value: Versioned | null | Error) => void }[];
  /** Of each read: whether the value was in the cache. */
  let known: boolean[];
  let cache: CredentialCache<Versioned>;

  beforeEach(() => {
    jest.useFakeTimers({ now: START, doNotFake: ['nextTick', 'performance'] });
    // The clock of lru-cache.
    jest.spyOn(performance, 'now').mockImplementation(() => Date.now());
    reads = [];
    known = [];
    cache = new CredentialCache(
      (id, { isKnown }) =>
        new Promise((resolve, reject) => {
          known.push(isKnown);
          reads.push({ id, answer: (value) => (value instanceof Error ? reject(value) : resolve(value)) });
        }),
    );
  });

  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
  const version = (number: number, expiresAt: Date | null = null): Versioned => ({ version: number, expiresAt });

  async function cached(value: Versioned): Promise<void> {
    const reading = cache.get('a', false);
    reads.at(-1)?.answer(value);
    await reading;
  }

  it('keeps a value for later requests, except those that ask for a fresh one', async () => {
    await cached(version(1));
    await pass(86_400_000);
    expect(await cache.get('a', false)).toEqual(version(1));
    expect(reads).toHaveLength(1);
    const fresh = cache.get('a', true);
    reads[1]?.answer(version(2));
    expect(await fresh).toEqual(version(2));
    expect(await cache.get('a', false)).toEqual(version(2));
  });

  it('shares a read among the requests that come within half a second, and no later one', async () => {
    const early = [cache.get('a', false), cache.get('a', true)];
    await pass(499);
    early.push(cache.get('a', true));
    expect(reads).toHaveLength(1);
    await pass(1);
    const late = cache.get('a', true);
    expect(reads).toHaveLength(2);
    reads[1]?.answer(version(2));
    expect(await late).toEqual(version(2));
    // The slow read answers at last: its requests get what it read, and the newer value stays.
    reads[0]?.answer(version(1));
    expect(await Promise.all(early)).toEqual([version(1), version(1), version(1)]);
    expect(await cache.get('a', false)).toEqual(version(2));
  });

  it('tells the reader which ids were valid when last read: others may be guesses', async () => {
    await cached(version(1));
    void cache.get('a', true);
    void cache.get('b', false);
    expect(known).toEqual([false, true, false]);
  });

  it('takes a later read of the same version', async () => {
    const later = { ...version(3), name: 'later' };
    await cached(version(3));
    const fresh = cache.get('a', true);
    reads[1]?.answer(later);
    await fresh;
    expect(await cache.get('a', false)).toMatchObject({ name: 'later' });
  });

  it('shares no read among different ids', async () => {
    const both = [cache.get('a', false), cache.get('b', false)];
    for (const { id, answer } of reads) answer(version(id === 'a' ? 1 : 2));
    expect(await Promise.all(both)).toEqual([version(1), version(2)]);
  });

  it('reads again after a read that failed', async () => {
    const failed = cache.get('a', false);
    reads[0]?.answer(new Error('no connection'));
    await expect(failed).rejects.toThrow('no connection');
    await cached(version(1));
    expect(reads).toHaveLength(2);
  });

  it('forgets a key when it expires', async () => {
    await cached(version(1, new Date(START.getTime() + 60_000)));
    await pass(59_000);
    expect(await cache.get('a', false)).not.toBeNull();
    await pass(1001);
    void cache.get('a', false);
    expect(reads).toHaveLength(2);
  });

  it('does not keep a key that has expired, nor what it knew of it before', async () => {
    await cached(version(1));
    const fresh = cache.get('a', true);
    reads[1]?.answer(version(2, START));
    await fresh;
    void cache.get('a', false);
    expect(reads).toHaveLength(3);
  });

  it('forgets what is no longer in Postgres, and does not keep that it is not', async () => {
    await cached(version(1));
    const fresh = cache.get('a', true);
    reads[1]?.answer(null);
    expect(await fresh).toBeNull();
    void cache.get('a', false);
    expect(reads).toHaveLength(3);
  });

  it('keeps 10,000 values at most', async () => {
    for (let i = 0; i <= 10_000; i++) {
      const reading = cache.get(`${i}`, false);
      reads.at(-1)?.answer(version(i));
      await reading;
    }
    void cache.get('0', false);
    expect(reads).toHaveLength(10_002);
    for (const id of ['2', '10000']) await cache.get(id, false);
    expect(reads).toHaveLength(10_002);
  });
});
