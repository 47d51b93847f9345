import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { type Redis, ReplyError } from 'ioredis';
import { Env } from '../config/env.js';
import { RedisConnection } from './redis-connection.js';
import { RedisService } from './redis.service.js';

/**
 * Called with each message of its channel, and with null once messages may have been missed: after the subscription
 * began and after a reconnect. On null the listener looks into Postgres. It must not throw.
 */
export type SignalListener = (message: string | null) => void;

/** Ends a subscription. Calling it again does nothing. */
export type Unsubscribe = () => void;

/** How often the connection is tested: a subscriber sends nothing by itself, so nothing else would show that it is lost. */
const PING_MS = 5000;

/**
 * Messages between processes over Redis Pub/Sub. Any of them may be lost, for example while Redis is unavailable:
 * Postgres is the record, and those who wait for a message also look there after a bounded time. All subscriptions of a
 * process share one connection, which is opened by the first of them.
 */
@Injectable()
export class SignalsService implements OnApplicationShutdown {
  private readonly logger = new Logger(SignalsService.name);
  private readonly listeners = new Map<string, Set<SignalListener>>();
  private subscriber: Redis | undefined;
  private heartbeat: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(
    private readonly env: Env,
    private readonly redis: RedisService,
  ) {}

  /** Never throws. @returns false when Redis is unavailable; then nobody gets the message. */
  async publish(channel: string, message: string): Promise<boolean> {
    return (await this.redis.tryCommand((client) => client.publish(this.nameOf(channel), message))) !== null;
  }

  subscribe(channel: string, listener: SignalListener): Unsubscribe {
    const name = this.nameOf(channel);
    const known = this.listeners.get(name);
    if (known) known.add(listener);
    else {
      this.listeners.set(name, new Set([listener]));
      this.open();
      if (this.subscriber?.status === 'ready') void this.listenTo([name]);
    }
    return () => this.unsubscribe(name, listener);
  }

  onApplicationShutdown(): void {
    this.stopped = true;
    clearInterval(this.heartbeat);
    this.subscriber?.disconnect();
  }

  private unsubscribe(name: string, listener: SignalListener): void {
    const known = this.listeners.get(name);
    if (!known?.delete(listener) || known.size > 0) return;
    this.listeners.delete(name);
    if (this.subscriber?.status === 'ready') void this.subscriber.unsubscribe(name).catch(() => undefined);
  }

  private open(): void {
    if (this.subscriber || this.stopped) return;
    const subscriber = new RedisConnection(this.env, {
      // Done here for every new connection, so that a subscription that got no answer is not lost.
      autoResubscribe: false,
      autoResendUnfulfilledCommands: false,
    });
    // RedisService logs it when Redis becomes unavailable.
    subscriber.on('error', () => undefined);
    subscriber.on('ready', () => void this.listenTo([...this.listeners.keys()]));
    subscriber.on('message', (name: string, message: string) => this.notify(name, message));
    this.heartbeat = setInterval(() => {
      if (subscriber.status === 'ready') subscriber.ping().catch(() => undefined);
    }, PING_MS).unref();
    this.subscriber = subscriber;
  }

  private async listenTo(names: string[]): Promise<void> {
    if (names.length === 0) return;
    try {
      await this.subscriber?.subscribe(...names);
    } catch (error) {
      // Redis has answered and refuses, for example by its ACL. Without an answer the next connection subscribes.
      if (error instanceof ReplyError) this.logger.warn({ err: error }, 'redis refused a subscription');
      return;
    }
    for (const name of names) this.notify(name, null);
  }

  private notify(name: string, message: string | null): void {
    for (const listener of this.listeners.get(name) ?? []) {
      try {
        listener(message);
      } catch (error) {
        this.logger.error({ err: error as Error }, 'signal listener failed');
      }
    }
  }

  /** Pub/Sub ignores the number of the database, which separates the services of a shared Redis. */
  private nameOf(channel: string): string {
    return `signal:${this.redis.client.options.db ?? 0}:${channel}`;
  }
}
