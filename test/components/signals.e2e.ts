import { Redis } from 'ioredis';
import { readEnv } from '../../src/platform/config/env.js';
import { RedisService } from '../../src/platform/redis/redis.service.js';
import { SignalsService } from '../../src/platform/redis/signals.service.js';
import { eventually } from '../../src/testing/eventually.js';
import { useEnvironment } from '../../src/testing/test-environment.js';
import { PrivateRedis } from '../support/servers/private-redis.js';
import { TcpProxy } from '../support/servers/tcp-proxy.js';

const environment = useEnvironment();
const undo: (() => unknown)[] = [];

afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

async function privateRedis(): Promise<PrivateRedis> {
  const redis = await PrivateRedis.start();
  undo.push(() => redis.kill());
  return redis;
}

/** Signals as one process has them. */
async function signals(variables: Record<string, string>): Promise<SignalsService> {
  const env = readEnv({ ...environment.variables, ...variables });
  const redis = new RedisService(env);
  const service = new SignalsService(env, redis);
  undo.push(() => redis.onApplicationShutdown());
  undo.push(() => service.onApplicationShutdown());
  await redis.onModuleInit();
  return service;
}

/** Everything that a listener of the channel was called with. */
async function listen(service: SignalsService, channel: string) {
  const heard: (string | null)[] = [];
  const unsubscribe = service.subscribe(channel, (message) => heard.push(message));
  await eventually(() => heard.includes(null));
  heard.length = 0;
  return { heard, unsubscribe };
}

/** Whether a message reaches the listener: published again and again, as somebody does whose messages may get lost. */
const arrives = (from: SignalsService, channel: string, heard: (string | null)[]): Promise<boolean> =>
  eventually(async () => (await from.publish(channel, 'again')) && heard.includes('again'));

describe('signals', () => {
  it('reach the listeners of their channel in every process of the same Redis database, and no others', async () => {
    const { url } = await privateRedis();
    const [here, there, elsewhere] = [
      await signals({ REDIS_URL: url }),
      await signals({ REDIS_URL: url }),
      await signals({ REDIS_URL: `${url}/1` }),
    ];
    const [own, other] = [await listen(here, 'a'), await listen(there, 'a')];
    const [second, channel, database] = [
      await listen(there, 'b'),
      await listen(here, 'c'),
      await listen(elsewhere, 'a'),
    ];
    there.subscribe('a', () => {
      throw new Error('a listener that fails');
    });
    expect(await here.publish('a', 'one')).toBe(true);
    expect(await there.publish('a', 'two')).toBe(true);
    await eventually(() => own.heard.length === 2 && other.heard.length === 2);
    expect([own.heard, other.heard]).toEqual([
      ['one', 'two'],
      ['one', 'two'],
    ]);
    own.unsubscribe();
    own.unsubscribe();
    await here.publish('a', 'three');
    await eventually(() => other.heard.length === 3);
    expect([own.heard.length, second.heard, channel.heard, database.heard]).toEqual([2, [], [], []]);
  });

  it('reach the listeners of a channel that are left when another one has ended', async () => {
    const { url } = await privateRedis();
    const service = await signals({ REDIS_URL: url });
    const { heard, unsubscribe } = await listen(service, 'a');
    const others: (string | null)[] = [];
    service.subscribe('a', (message) => others.push(message));
    unsubscribe();
    await service.publish('a', 'one');
    await eventually(() => others.includes('one'));
    expect(heard).toEqual([]);
  });

  it('open no connection before the first subscription, and one for all of them', async () => {
    const { url } = await privateRedis();
    const service = await signals({ REDIS_URL: url });
    const admin = new Redis(url);
    undo.push(() => admin.disconnect());
    const connections = async () => ((await admin.client('LIST')) as string).trim().split('\n').length;
    await service.publish('a', 'one');
    expect(await connections()).toBe(2);
    for (const channel of ['a', 'b', 'c']) await listen(service, channel);
    expect(await connections()).toBe(3);
  });

  it('come again after Redis was killed, and tell that some may be missing', async () => {
    const redis = await privateRedis();
    const [from, to] = [await signals({ REDIS_URL: redis.url }), await signals({ REDIS_URL: redis.url })];
    const { heard } = await listen(to, 'a');
    await redis.kill();
    const startedAt = performance.now();
    expect(await from.publish('a', 'lost')).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(3000);
    // Subscribed without a connection.
    const late: (string | null)[] = [];
    to.subscribe('b', (message) => late.push(message));
    await redis.start();
    await eventually(() => heard.includes(null) && late.includes(null));
    await Promise.all([arrives(from, 'a', heard), arrives(from, 'b', late)]);
    expect(heard).not.toContain('lost');
  });

  it('come again over a new connection when the old one has become silent', async () => {
    const redis = await privateRedis();
    const proxy = await TcpProxy.to(redis.url);
    undo.push(() => proxy.close());
    const [from, to] = [await signals({ REDIS_URL: redis.url }), await signals({ REDIS_URL: proxy.url })];
    const { heard } = await listen(to, 'a');
    proxy.freeze({ onlyOpen: true });
    await from.publish('a', 'lost');
    await arrives(from, 'a', heard);
    expect(heard).toContain(null);
    expect(heard).not.toContain('lost');
  });

  it('follow the sentinels to another primary', async () => {
    const primary = await privateRedis();
    const replica = await PrivateRedis.replicaOf(primary);
    undo.push(() => replica.kill());
    const sentinel = await PrivateRedis.sentinelOf(primary);
    undo.push(() => sentinel.kill());
    const monitor = new Redis(sentinel.url);
    undo.push(() => monitor.disconnect());
    await eventually(async () => ((await monitor.call('SENTINEL', 'REPLICAS', 'mymaster')) as unknown[]).length === 1);
    const variables = { REDIS_URL: 'redis://unused.invalid', REDIS_SENTINELS: sentinel.address };
    const [from, to] = [await signals(variables), await signals(variables)];
    const { heard } = await listen(to, 'a');
    await primary.kill();
    await arrives(from, 'a', heard);
  });
});
