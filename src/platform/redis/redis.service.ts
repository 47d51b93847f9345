import { once } from 'node:events';
import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Env } from '../config/env.js';
import { RedisConnection } from './redis-connection.js';

/** Longest wait for an answer. Every caller has a fallback without Redis. */
const TIMEOUT_MS = 250;
/** After a failure no command is sent for this long, so that an outage costs one wait and not one per request. */
const BREAK_MS = 1000;
/** Longest wait for the connection at startup. */
const START_MS = 500;
/** With the hash tag of the queues: in a cluster it lies where their keys do. */
const CHECK_KEY = 'write-check:{bull}';
const CHECK_MS = 1000;

/** The connection for short commands, with a timeout and a circuit breaker. Queues have their own connections. */
@Injectable()
export class RedisService implements OnModuleInit, OnApplicationShutdown {
  readonly client: Redis;
  private readonly logger = new Logger(RedisService.name);
  private readonly timeout = new Timeout(TIMEOUT_MS);
  private openUntil = 0;
  private reachable = true;

  constructor(env: Env) {
    this.client = new RedisConnection(env, { enableAutoPipelining: true });
    this.client.on('error', (error) => this.setReachable(false, error));
    this.client.on('ready', () => this.setReachable(true));
  }

  /** Lets the first requests find an open connection. */
  async onModuleInit(): Promise<void> {
    if (this.client.status === 'ready') return;
    await once(this.client, 'ready', { signal: AbortSignal.timeout(START_MS) }).catch(() => undefined);
  }

  /** @returns the answer of `command`, or null when Redis is unavailable or too slow. */
  async tryCommand<T>(command: (client: Redis) => Promise<T>): Promise<T | null> {
    if (Date.now() < this.openUntil) return null;
    try {
      const answer = await this.timeout.within(command(this.client));
      this.setReachable(true);
      return answer;
    } catch (error) {
      this.openUntil = Date.now() + BREAK_MS;
      this.setReachable(false, error as Error);
      return null;
    }
  }

  /** Whether Redis takes writes. A replica, and a server without memory, answer a PING as well. */
  async isUsable(): Promise<boolean> {
    return (await this.tryCommand((client) => client.set(CHECK_KEY, '1', 'PX', CHECK_MS))) === 'OK';
  }

  onApplicationShutdown(): void {
    this.client.disconnect();
  }

  /** Logs one line per outage and one when it ends, not one per request. */
  private setReachable(reachable: boolean, error?: Error): void {
    if (reachable === this.reachable) return;
    this.reachable = reachable;
    if (reachable) this.logger.log('redis available again');
    else this.logger.warn({ err: error }, 'redis unavailable; limiting per process');
  }
}

/** The wait is counted in steps: see `Timeout`. */
const STEPS = 5;

interface Pending {
  stepsLeft: number;
  expire: () => void;
}

/**
 * Bounds the wait for answers, with one timer for all of them. The wait is counted in steps: after a stall of this
 * process timers fire before the answers are read that came meanwhile, and a stall then counts as one step only.
 * cockatiel 3.2.1 (timeout and breaker) has no such steps and costs 20 to 33 µs CPU a call against 2 µs, 18 % of a get.
 */
export class Timeout {
  private readonly pending = new Set<Pending>();
  private timer: NodeJS.Timeout | undefined;

  /** @param ms longest wait; up to one step (a fifth) shorter, because the steps are shared. */
  constructor(private readonly ms: number) {}

  /** Settles as `answer` does. @throws Error when `answer` takes too long. */
  within<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const entry = { stepsLeft: STEPS, expire: () => reject(new Error(`no answer within ${this.ms} ms`)) };
      this.pending.add(entry);
      this.timer ??= setInterval(() => this.step(), this.ms / STEPS);
      const settle =
        <Outcome>(how: (outcome: Outcome) => void) =>
        (outcome: Outcome): void => {
          this.pending.delete(entry);
          how(outcome);
        };
      answer.then(settle(resolve), settle(reject));
    });
  }

  private step(): void {
    for (const entry of this.pending) {
      if (--entry.stepsLeft > 0) continue;
      this.pending.delete(entry);
      entry.expire();
    }
    if (this.pending.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
