import type { Env } from '../config/env.js';
import { RedisConnection } from './redis-connection.js';

const SENTINELS = ['10.0.0.5:26379', 'redis-1.local:1', '[fd00::1]:26380'];
const ENV = { redisUrl: 'redis://:secret@redis:6379/2', redisSentinels: [], redisSentinelName: 'mymaster' };

describe('RedisConnection', () => {
  const optionsWith = (settings: Partial<Env>) =>
    new RedisConnection({ ...ENV, ...settings } as Env, { lazyConnect: true }).options;

  it('asks the sentinels at their addresses, those of IPv6 without their brackets', () => {
    const options = optionsWith({ redisSentinels: SENTINELS, redisSentinelPassword: null });
    expect(options.sentinels).toEqual([
      { host: '10.0.0.5', port: 26_379 },
      { host: 'redis-1.local', port: 1 },
      { host: 'fd00::1', port: 26_380 },
    ]);
    expect(options).toMatchObject({ name: 'mymaster', password: 'secret', db: 2, enableTLSForSentinelMode: false });
    expect(options).toMatchObject({ failoverDetector: true, maxRetriesPerRequest: 1 });
    expect(options.sentinelPassword ?? null).toBeNull();
    expect([1, 10, 1000].map((tries) => options.sentinelRetryStrategy?.(tries))).toEqual([100, 1000, 1000]);
  });

  it('gives the sentinels their password, and TLS where the URL has it', () => {
    const secured = { redisUrl: 'rediss://unused.invalid', redisSentinels: SENTINELS, redisSentinelPassword: 'p' };
    expect(optionsWith(secured)).toMatchObject({ sentinelPassword: 'p', enableTLSForSentinelMode: true });
  });

  it('is opened again for ever, at least once a second, and fails commands at once meanwhile', () => {
    const options = optionsWith({});
    expect(options).toMatchObject({ maxRetriesPerRequest: 1, enableOfflineQueue: false });
    expect([1, 2, 9, 10, 1000].map((tries) => options.retryStrategy?.(tries))).toEqual([100, 200, 900, 1000, 1000]);
  });

  it.each([
    ["READONLY You can't write against a read only replica.", true],
    ['UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)', true],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', false],
  ])('that answers %j is opened anew: %s', (message, expected) => {
    expect(optionsWith({}).reconnectOnError?.(new Error(message))).toBe(expected);
  });

  it('gives up a connection that does not answer, whatever it is for', () => {
    expect(optionsWith({})).toMatchObject({ socketTimeout: 3000, connectTimeout: 2000 });
    expect(optionsWith({ redisSentinels: SENTINELS })).toMatchObject({ socketTimeout: 3000 });
  });
});
