import { Redis, type RedisOptions } from 'ioredis';
import type { Env } from '../config/env.js';

const REOPEN_MS = 1000;
/**
 * A connection that is silent for this long after a command is opened anew: its server may be frozen, or the network has
 * lost the connection and told neither side. TCP itself gives up after a quarter of an hour.
 */
const SILENT_MS = 3000;

/** Errors of a server that is no longer the primary. A new connection leads to the one that is. */
const DEMOTED = /READONLY|UNBLOCKED/;

/** Reconnects for ever, and rejects commands at once while disconnected. */
const OPTIONS: RedisOptions = {
  maxRetriesPerRequest: 1,
  enableOfflineQueue: false,
  connectTimeout: 2000,
  socketTimeout: SILENT_MS,
  retryStrategy: (tries) => Math.min(tries * 100, 1000),
  reconnectOnError: ({ message }) => DEMOTED.test(message),
};

/**
 * A connection to Redis that is opened again until it is closed with `disconnect()`. ioredis alone gives up when a
 * connection breaks while it asks a sentinel for the primary, as happens in a fail-over.
 */
export class RedisConnection extends Redis {
  private closed = false;
  private reopening: NodeJS.Timeout | undefined;

  constructor(env: Env, options: RedisOptions = {}) {
    super(env.redisUrl, { ...optionsOf(env), ...options });
    this.on('end', () => this.reopen());
    this.on('close', () => this.forgetSilence());
  }

  /** Never rejects, because Bull does not catch that, and the attempts go on. */
  override async connect(): Promise<void> {
    this.closed = false;
    await super.connect().catch(() => undefined);
  }

  override disconnect(reconnect = false): void {
    if (!reconnect) {
      this.closed = true;
      clearTimeout(this.reopening);
      this.forgetSilence();
    }
    super.disconnect(reconnect);
  }

  /**
   * ioredis leaves the timer of `socketTimeout` running when a connection breaks with a command under way. It would then
   * destroy the next connection, and keep a process that ends.
   */
  private forgetSilence(): void {
    clearTimeout(this['socketTimeoutTimer']);
    this['socketTimeoutTimer'] = undefined;
  }

  private reopen(): void {
    if (this.closed) return;
    clearTimeout(this.reopening);
    this.reopening = setTimeout(() => void this.connect(), REOPEN_MS);
  }
}

/** For a connection to REDIS_URL, or to the primary that the sentinels name. */
function optionsOf(env: Env): RedisOptions {
  const { redisUrl, redisSentinels, redisSentinelName, redisSentinelPassword } = env;
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
