import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { readEnv } from '../../src/platform/config/env.js';
import { RedisConnection } from '../../src/platform/redis/redis-connection.js';
import { eventually } from '../../src/testing/eventually.js';
import { useEnvironment } from '../../src/testing/test-environment.js';
import { PrivateRedis } from '../support/servers/private-redis.js';

const environment = useEnvironment();

describe('a connection to Redis that breaks while a sentinel is asked for the primary', () => {
  let primary: PrivateRedis;
  let sentinel: PrivateRedis;
  let connection: RedisConnection;

  beforeAll(async () => {
    primary = await PrivateRedis.start();
    sentinel = await PrivateRedis.sentinelOf(primary);
  });

  afterAll(async () => {
    await sentinel.kill();
    await primary.kill();
  });

  beforeEach(() => {
    const variables = { REDIS_URL: 'redis://unused.invalid', REDIS_SENTINELS: sentinel.address };
    connection = new RedisConnection(readEnv({ ...environment.variables, ...variables }));
    connection.on('error', () => undefined);
    expect(connection.status).toBe('connecting');
  });

  afterEach(() => connection.disconnect());

  it('is opened again', async () => {
    // As ioredis does when the server says that it is no longer the primary.
    connection.disconnect(true);
    await eventually(() => connection.status === 'end');
    await eventually(() => connection.status === 'ready');
    expect(await connection.ping()).toBe('PONG');
  });

  it('stays closed when it is closed then', async () => {
    connection.disconnect();
    await eventually(() => connection.status === 'end');
    await delay(1500);
    expect(connection.status).toBe('end');
  });

  it('stays closed when it is closed before it is opened again', async () => {
    connection.disconnect(true);
    await eventually(() => connection.status === 'end');
    connection.disconnect();
    await delay(1500);
    expect(connection.status).toBe('end');
  });
});

describe('a connection to Redis that breaks with a command under way', () => {
  it('is opened again for good: what it waited for does not end the next one', async () => {
    const connection = new RedisConnection(readEnv(environment.variables));
    connection.on('error', () => undefined);
    try {
      await eventually(() => connection.status === 'ready');
      const id = await connection.client('ID');
      const waiting = connection.blpop('nothing', 1).catch(() => undefined);
      const killer = new RedisConnection(readEnv(environment.variables));
      await eventually(() => killer.status === 'ready');
      const closed = once(connection, 'close');
      await killer.client('KILL', 'ID', id);
      killer.disconnect();
      await closed;
      await eventually(() => connection.status === 'ready');
      let breaks = 0;
      connection.on('close', () => (breaks += 1));
      // Longer than a connection may be silent.
      for (let i = 0; i < 35; i++) {
        await delay(100);
        expect(await connection.ping()).toBe('PONG');
      }
      expect(breaks).toBe(0);
      connection.disconnect();
      await waiting;
    } finally {
      connection.disconnect();
    }
  });
});
