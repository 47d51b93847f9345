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
  });

  it('gives up a connection that does not answer, whatever it is for', () => {
    expect(optionsWith({})).toMatchObject({ socketTimeout: 3000, connectTimeout: 2000 });
    expect(optionsWith({ redisSentinels: SENTINELS })).toMatchObject({ socketTimeout: 3000 });
  });
});
