import { once } from 'node:events';
import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Redis, type RedisOptions } from 'ioredis';
import { Env } from '../config/env.js';
import { Timeout } from './timeout.js';

/** Nobody waits longer for Redis: what it is asked for can be had without it, or later. */
const TIMEOUT_MS = 250;
/** After one failure Redis is left alone for this long, so that a dead server costs one wait and not one a request. */
const BREAK_MS = 1000;
/** A start waits for the connection, but not for long. */
const START_MS = 500;

/** Never queues commands for a server that is away, and keeps trying to reach it. */
export const redisOptions: RedisOptions = {
  maxRetriesPerRequest: 1,
  enableOfflineQueue: false,
  connectTimeout: 2000,
  retryStrategy: (tries) => Math.min(tries * 100, 1000),
};

/** The connection for short commands, with a breaker. Bull keeps connections of its own. */
@Injectable()
export class RedisService implements OnModuleInit, OnApplicationShutdown {
  readonly client: Redis;
  private readonly logger = new Logger(RedisService.name);
  private readonly patience = new Timeout(TIMEOUT_MS);
  private openUntil = 0;
  private reachable = true;

  constructor(env: Env) {
    this.client = new Redis(env.redisUrl, { ...redisOptions, enableAutoPipelining: true });
    this.client.on('error', (error) => this.note(false, error));
    this.client.on('ready', () => this.note(true));
  }

  /** The first requests should find Redis there, if it is there. */
  async onModuleInit(): Promise<void> {
    if (this.client.status === 'ready') return;
    await once(this.client, 'ready', { signal: AbortSignal.timeout(START_MS) }).catch(() => undefined);
  }

  /** The answer of `command`, or null when Redis did not give one in time. */
  async attempt<T>(command: (client: Redis) => Promise<T>): Promise<T | null> {
    if (Date.now() < this.openUntil) return null;
    try {
      const answer = await this.patience.within(command(this.client));
      this.note(true);
      return answer;
    } catch (error) {
      this.openUntil = Date.now() + BREAK_MS;
      this.note(false, error as Error);
      return null;
    }
  }

  /** Whether Redis answers right now. */
  async ping(): Promise<boolean> {
    return (await this.attempt((client) => client.ping())) === 'PONG';
  }

  onApplicationShutdown(): void {
    this.client.disconnect();
  }

  /** One line when Redis goes and one when it is back, not one a request. */
  private note(reachable: boolean, error?: Error): void {
    if (reachable === this.reachable) return;
    this.reachable = reachable;
    if (reachable) this.logger.log('Redis is back');
    else
      this.logger.warn({ err: error }, 'Redis is away: limits are kept in the process, work waits for the reconciler');
  }
}
