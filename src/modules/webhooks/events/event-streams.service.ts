import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import type { Response } from 'express';
import { Registry } from 'prom-client';
import { selectLiveKeys } from '../../../access/accounts.queries.js';
import { selectLiveSessions } from '../../../access/sessions.queries.js';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { ServiceUnavailableError, TooManyEventStreamsError } from '../../../platform/errors/errors.js';
import { addGauge } from '../../../platform/observability/metrics.js';
import { RedisService } from '../../../platform/redis/redis.service.js';
import type { Unsubscribe } from '../../../platform/redis/signals.service.js';
import { SharedSlots } from '../../../platform/rate-limit/shared-slots.js';
import { EventFeedService } from './event-feed.service.js';
import { EventSignalsService } from './event-signals.service.js';
import { EventStream, type StreamReader, StreamReadLoop } from './event-stream.js';

/** Signals may get lost. Bounds how late a stream gets an event, or ends with its key: this, plus the time of a read. */
const POLL_MS = 2000;
export const STREAM_SCOPE = 'recordings:read';

/** The streams of an account, at least one, and the end of what wakes them. */
interface AccountStreams {
  streams: Set<EventStream>;
  unsubscribe: Unsubscribe;
}

/**
 * The event streams of this process. All of them share two statements every POLL_MS, which look for events and for keys
 * that ended, and a third one while sessions read any; a signal makes events be read at once. Postgres is the record of both.
 */
@Injectable()
export class EventStreamsService implements BeforeApplicationShutdown {
  private readonly logger = new Logger(EventStreamsService.name);
  private readonly accounts = new Map<string, AccountStreams>();
  private readonly slots: SharedSlots;
  private readonly loop: StreamReadLoop;
  private timers: NodeJS.Timeout[] = [];
  private isPolling = false;
  private stopped = false;

  constructor(
    private readonly env: Env,
    private readonly database: DatabaseService,
    private readonly feed: EventFeedService,
    private readonly signals: EventSignalsService,
    redis: RedisService,
    registry: Registry,
  ) {
    this.slots = new SharedSlots(redis, 'event-streams');
    this.loop = new StreamReadLoop((readers, limit) => feed.next(readers, limit));
    addGauge(registry, 'event_streams', 'Open event streams.', () => this.open);
  }

  /** Open streams of this process. */
  get open(): number {
    return this.streams().length;
  }

  /**
   * Sends the events after `position` to the response until either side ends it.
   * @throws TooManyEventStreamsError, ServiceUnavailableError while the process stops
   */
  async stream(reader: StreamReader, position: number, response: Response): Promise<void> {
    const { accountId } = reader;
    const limit = this.env.eventStreamsPerAccount;
    if (this.stopped) throw new ServiceUnavailableError(1);
    const releaseSlot = await this.slots.take(accountId, limit);
    if (typeof releaseSlot === 'number') throw new TooManyEventStreamsError(limit, releaseSlot);
    // The client, or the process, may have ended meanwhile.
    if (response.closed || this.stopped) {
      releaseSlot();
      if (!response.closed) throw new ServiceUnavailableError(1);
      return;
    }
    const stream = new EventStream(reader, position, response);
    response.on('close', () => {
      releaseSlot();
      this.remove(stream);
    });
    response.on('drain', () => this.loop.read([stream]));
    this.add(stream);
    stream.begin();
    this.loop.read([stream]);
  }

  /** Before the HTTP server waits for its connections. */
  beforeApplicationShutdown(): void {
    this.stopped = true;
    this.pause();
    this.slots.stop();
    for (const account of this.accounts.values()) account.unsubscribe();
    for (const stream of this.streams()) stream.end();
  }

  private add(stream: EventStream): void {
    if (this.accounts.size === 0) this.start();
    const { accountId } = stream;
    const account = this.accounts.get(accountId);
    if (account) {
      account.streams.add(stream);
      return;
    }
    const unsubscribe = this.signals.subscribe(accountId, () => this.wake([accountId]));
    this.accounts.set(accountId, { streams: new Set([stream]), unsubscribe });
  }

  private remove(stream: EventStream): void {
    this.loop.forget(stream);
    const account = this.accounts.get(stream.accountId);
    account?.streams.delete(stream);
    if (account?.streams.size === 0) {
      account.unsubscribe();
      this.accounts.delete(stream.accountId);
    }
    if (this.accounts.size === 0) this.pause();
  }

  private streams(): EventStream[] {
    return [...this.accounts.values()].flatMap(({ streams }) => [...streams]);
  }

  private start(): void {
    this.timers = [
      setInterval(() => void this.poll(), POLL_MS),
      setInterval(() => this.comment(), this.env.eventStreamCommentSeconds * 1000),
    ];
  }

  private pause(): void {
    for (const timer of this.timers) clearInterval(timer);
  }

  private wake(accountIds: readonly string[]): void {
    for (const accountId of accountIds) this.loop.read(this.accounts.get(accountId)?.streams ?? []);
  }

  private comment(): void {
    for (const stream of this.streams()) stream.comment();
  }

  private async poll(): Promise<void> {
    if (this.isPolling || this.accounts.size === 0) return;
    this.isPolling = true;
    try {
      await this.endWithoutCredential();
      this.wake(await this.feed.accountsWithNewEvents(this.positions()));
    } catch (error) {
      this.logger.warn({ err: error }, 'event streams could not look for events');
    } finally {
      this.isPolling = false;
    }
  }

  /** The least of each account, without those that wait for their connection anyway. */
  private positions(): { accountId: string; after: number }[] {
    return [...this.accounts].flatMap(([accountId, { streams }]) => {
      const open = [...streams].filter(({ isBlocked }) => !isBlocked);
      return open.length === 0 ? [] : [{ accountId, after: Math.min(...open.map(({ position }) => position)) }];
    });
  }

  /** Ends the streams of keys and sessions that have ended, and of suspended accounts. */
  private async endWithoutCredential(): Promise<void> {
    const streams = this.streams();
    const keyIds = idsOf(streams, ({ keyId }) => keyId);
    const sessionIds = idsOf(streams, ({ sessionId }) => sessionId);
    const keys = keyIds.length === 0 ? [] : await selectLiveKeys(this.database, keyIds, STREAM_SCOPE);
    // Every role has the scope, but a session may act for another account now.
    const sessions = sessionIds.length === 0 ? [] : await selectLiveSessions(this.database, sessionIds);
    const live = new Set([...keys, ...sessions.map(({ id, accountId }) => `${accountId}/${id}`)]);
    for (const stream of streams) {
      const { accountId, keyId, sessionId } = stream;
      if (!live.has(keyId ?? `${accountId}/${sessionId}`)) stream.end();
    }
  }
}

const idsOf = (streams: readonly EventStream[], of: (stream: EventStream) => string | null): string[] => [
  ...new Set(streams.map(of).filter((id) => id !== null)),
];
