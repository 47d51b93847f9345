import type { RedisOptions } from 'ioredis';
import type { Env } from '../config/env.js';

type RedisSettings = Pick<Env, 'redisUrl' | 'redisSentinels' | 'redisSentinelName' | 'redisSentinelPassword'>;

/** Errors of a server that is no longer the primary. A new connection leads to the one that is. */
const DEMOTED = /READONLY|UNBLOCKED/;

/** Reconnects for ever, and rejects commands at once while disconnected. */
const OPTIONS: RedisOptions = {
  maxRetriesPerRequest: 1,
  enableOfflineQueue: false,
  connectTimeout: 2000,
  retryStrategy: (tries) => Math.min(tries * 100, 1000),
  reconnectOnError: ({ message }) => DEMOTED.test(message),
};

/** For a connection to REDIS_URL, or to the primary that the sentinels name. */
export function redisOptions(settings: RedisSettings): RedisOptions {
  const { redisUrl, redisSentinels, redisSentinelName, redisSentinelPassword } = settings;
  if (redisSentinels.length === 0) return OPTIONS;
  return {
    ...OPTIONS,
    sentinels: redisSentinels.map(addressOf),
    name: redisSentinelName,
    ...(redisSentinelPassword === null ? {} : { sentinelPassword: redisSentinelPassword }),
    sentinelRetryStrategy: (tries) => Math.min(tries * 100, 1000),
    enableTLSForSentinelMode: redisUrl.startsWith('rediss:'),
    // A frozen primary keeps its connections open, so the sentinels say when there is another.
    failoverDetector: true,
  };
}

function addressOf(text: string): { host: string; port: number } {
  const [, host = '', port] = /^\[?(.+?)\]?:(\d+)$/.exec(text) ?? [];
  return { host, port: Number(port) };
}
