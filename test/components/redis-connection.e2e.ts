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
