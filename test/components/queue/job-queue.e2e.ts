import { randomUUID } from 'node:crypto';
import { readEnv } from '../../../src/platform/config/env.js';
import { JobQueue } from '../../../src/platform/queue/job-queue.js';
import { RedisService } from '../../../src/platform/redis/redis.service.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useEnvironment } from '../../../src/testing/test-environment.js';
import { TcpProxy } from '../../support/servers/tcp-proxy.js';

const environment = useEnvironment();
/** A waiting job blocks its duplicates for this long. */
const WINDOW_MS = 300_000;

let name: string;
let redis: RedisService;
let queue: JobQueue<{ id: string }>;

beforeEach(async () => {
  const env = readEnv(environment.variables);
  name = `queue-${randomUUID()}`;
  redis = new RedisService(env);
  await redis.onModuleInit();
  queue = new JobQueue(name, env, redis);
  await eventually(() => queue.client.status === 'ready');
});

afterEach(async () => {
  jest.restoreAllMocks();
  await queue.onApplicationShutdown();
  redis.onApplicationShutdown();
});

const waiting = async (): Promise<string[]> => (await queue.getWaiting()).map(({ data }) => data.id).toSorted();

/** Their sockets, since ioredis may call a connection ready after it was closed. */
const areClosed = (): boolean => queue['connections'].every((connection) => connection['stream'].destroyed);

/** Takes the jobs that wait. @returns them in the order in which they were taken. */
async function takeAll(fail: (id: string) => boolean = () => false): Promise<string[]> {
  const taken: string[] = [];
  const count = await queue.getWaitingCount();
  void queue.process(async (job: { data: { id: string } }) => {
    taken.push(job.data.id);
    if (fail(job.data.id)) throw new Error('failed');
  });
  await eventually(() => taken.length >= count);
  return taken;
}

describe('a job', () => {
  it('is dropped while one with the same data and key waits, in a window of five minutes', async () => {
    const now = jest.spyOn(Date, 'now').mockReturnValue(10 * WINDOW_MS);
    const enqueue = (id: string, deduplicationKey: string | number) => queue.enqueue({ id }, { deduplicationKey });
    for (const [id, key] of [
      ['a', 1],
      ['a', 1],
      ['a', 2],
      ['b', 1],
    ] as const) {
      await enqueue(id, key);
    }
    expect(await waiting()).toEqual(['a', 'a', 'b']);
    expect((await queue.getWaiting()).map(({ id }) => `${id}`).toSorted()).toEqual(['a-1-10', 'a-2-10', 'b-1-10']);
    now.mockReturnValue(11 * WINDOW_MS - 1);
    await enqueue('a', 1);
    expect(await waiting()).toHaveLength(3);
    now.mockReturnValue(11 * WINDOW_MS);
    await enqueue('a', 1);
    expect(await waiting()).toEqual(['a', 'a', 'a', 'b']);
  });

  it('is taken in its turn, and leaves nothing behind, also when it fails', async () => {
    for (const id of ['a', 'b', 'c']) await queue.enqueue({ id }, { deduplicationKey: 1 });
    expect(await takeAll((id) => id === 'b')).toEqual(['a', 'b', 'c']);
    await eventually(async () => Object.values(await queue.getJobCounts()).every((count) => count === 0));
    const keys = await redis.client.keys(`{bull}:${name}:*-1-*`);
    expect(keys).toEqual([]);
  });

  it('is not added to a thousand that wait: while nobody takes jobs, Redis does not fill up', async () => {
    const add = async (from: number, count: number): Promise<void> => {
      for (let i = from; i < from + count; i += 100) {
        const hundred = Array.from({ length: 100 }, (_, j) => i + j);
        await Promise.all(hundred.map((id) => queue.enqueue({ id: `${id}` }, { deduplicationKey: 'new' })));
      }
    };
    const keysOf = async (): Promise<number> => (await redis.client.keys(`{bull}:${name}:*`)).length;
    await add(0, 1000);
    const keys = await keysOf();
    await add(1000, 4000);
    expect(await queue.getWaitingCount()).toBe(1000);
    expect(await keysOf()).toBe(keys);
    expect(await takeAll()).toHaveLength(1000);
    await eventually(async () => (await queue.getWaitingCount()) === 0 && (await queue.getActiveCount()) === 0);
    await queue.enqueue({ id: 'after' }, { deduplicationKey: 'new' });
    await eventually(async () => (await queue.getWaitingCount()) === 0);
  });

  it('is not enqueued while Redis is unavailable', async () => {
    jest.spyOn(redis, 'tryCommand').mockResolvedValue(null);
    await queue.enqueue({ id: 'a' }, { deduplicationKey: 1 });
    expect(await waiting()).toEqual([]);
  });
});

describe('a queue', () => {
  it('keeps its keys in one slot of a cluster', async () => {
    await queue.enqueue({ id: 'a' }, { deduplicationKey: 1 });
    const keys = await redis.client.keys(`*${name}*`);
    expect(keys.length).toBeGreaterThan(1);
    for (const key of keys) expect(key.startsWith(`{bull}:${name}:`)).toBe(true);
  });

  it('retries no job of a process that died, and looks for them every five seconds', () => {
    const { settings } = queue as unknown as { settings: object };
    expect(settings).toMatchObject({ maxStalledCount: 0, stalledInterval: 5000, drainDelay: 1 });
  });

  it('fails at once without Redis where it adds jobs, and waits for it where it takes them', async () => {
    void queue.process(async () => undefined);
    await eventually(() => queue['connections'].length === 3);
    const options = queue['connections'].map((connection) => [
      connection.options.maxRetriesPerRequest,
      connection.options.enableOfflineQueue,
    ]);
    expect(options).toEqual(
      expect.arrayContaining([
        [1, false],
        [null, true],
        [null, true],
      ]),
    );
  });

  it('takes jobs again within seconds after the network has lost its connections and told nobody', async () => {
    const proxy = await TcpProxy.to(environment.variables.REDIS_URL ?? '');
    const env = readEnv({ ...environment.variables, REDIS_URL: proxy.url });
    const consumer = new JobQueue<{ id: string }>(name, env, redis);
    const taken: string[] = [];
    void consumer.process(async (job: { data: { id: string } }) => void taken.push(job.data.id));
    let jobs = 0;
    const takesJobs = async (): Promise<void> => {
      const before = taken.length;
      await eventually(async () => {
        // One that Redis has given to a lost connection is lost, too.
        await queue.enqueue({ id: `${jobs++}` }, { deduplicationKey: 1 });
        return taken.length > before;
      }, 30_000);
    };
    try {
      await takesJobs();
      proxy.freeze({ onlyOpen: true });
      await takesJobs();
    } finally {
      // Bull would wait for the job that was lost.
      await consumer.close(true);
      await consumer.onApplicationShutdown();
      await proxy.close();
    }
  });

  it('closes all its connections, and waits for Redis no longer than a second', async () => {
    void queue.process(async () => undefined);
    await eventually(() => queue['connections'].length === 3);
    await queue.onApplicationShutdown();
    await eventually(areClosed);

    jest.spyOn(queue, 'close').mockReturnValue(new Promise(() => undefined));
    const startedAt = performance.now();
    await queue.onApplicationShutdown();
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThan(900);
    expect(tookMs).toBeLessThan(20_000);
  });

  it('closes all its connections when Redis is slow, too', async () => {
    void queue.process(async () => undefined);
    await eventually(() => queue['connections'].length === 3);
    await redis.client.call('CLIENT', 'PAUSE', '2500');
    await queue.onApplicationShutdown();
    await queue.close();
    await eventually(areClosed);
  });
});
