import { Logger } from '@nestjs/common';
import type { Response } from 'express';
import { presentStreamedEvent } from './event-feed.dto.js';
import type { FeedEvent, FeedPage, ReaderPosition } from './event-feed.service.js';

/** How long a client waits before it connects again: spread, because a stop ends all streams of a process at once. */
const RETRY_MS = { min: 500, spread: 1500 };

/** nginx would collect the events. `Cache-Control: no-store` is on every answer of the API. */
export const STREAM_HEADERS = { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' };

/** Who reads a stream. */
export interface StreamReader {
  accountId: string;
  /** Its key, or else its session. */
  keyId: string | null;
  sessionId: string | null;
}

/** One connection that receives the events of its account (D40). */
export class EventStream {
  readonly accountId: string;
  readonly keyId: string | null;
  readonly sessionId: string | null;

  /** @param position sequence of the last event that the reader has. */
  constructor(
    { accountId, keyId, sessionId }: StreamReader,
    public position: number,
    private readonly response: Response,
  ) {
    this.accountId = accountId;
    this.keyId = keyId;
    this.sessionId = sessionId;
  }

  begin(): void {
    const { min, spread } = RETRY_MS;
    this.response.set(STREAM_HEADERS);
    // The id lets a reader that got no event yet resume here. Without data it is no event.
    this.response.write(`retry: ${min + Math.floor(Math.random() * spread)}\nid: ${this.position}\n\n`);
  }

  /** The reader is slower than its events. Nothing is read for it until its connection has taken what was written. */
  get isBlocked(): boolean {
    return this.response.writableNeedDrain;
  }

  /** @param events in order, without a gap after `position`. */
  send(events: readonly FeedEvent[]): void {
    const last = events.at(-1);
    if (!last || this.response.writableEnded) return;
    this.response.write(events.map(presentStreamedEvent).join(''));
    this.position = last.sequence;
  }

  comment(): void {
    if (!this.isBlocked && !this.response.writableEnded) this.response.write(':\n\n');
  }

  end(): void {
    this.response.end();
  }
}

/** Events that one read has for a reader: bounds what is written at once to one that is far behind. */
const MAX_EVENTS = 100;
/** Readers of one statement. */
const MAX_READERS = 50;

type Streams = Pick<EventStream, 'accountId' | 'position' | 'isBlocked' | 'send'>;
type Read = (readers: readonly ReaderPosition[], limit: number) => Promise<FeedPage[]>;

/**
 * Reads the events of the streams that are behind, one statement at a time for all of them. Streams at the same position
 * of an account share what is read.
 */
export class StreamReadLoop {
  private readonly logger = new Logger(StreamReadLoop.name);
  private readonly behind = new Set<Streams>();
  private isRunning = false;

  constructor(private readonly next: Read) {}

  /** The streams may have events to read. */
  read(streams: Iterable<Streams>): void {
    for (const stream of streams) if (!stream.isBlocked) this.behind.add(stream);
    if (this.isRunning || this.behind.size === 0) return;
    void this.run();
  }

  forget(stream: Streams): void {
    this.behind.delete(stream);
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    while (this.behind.size > 0) {
      const groups = this.takeGroups();
      const readers = groups.map(([first]) => ({ accountId: first.accountId, after: first.position }));
      try {
        const found = await this.next(readers, MAX_EVENTS);
        groups.forEach((group, i) => this.send(group, found[i]));
      } catch (error) {
        // The next poll finds them again.
        this.logger.warn({ err: error }, 'event streams could not read events');
      }
    }
    this.isRunning = false;
  }

  /** Streams at the same position. A signal that comes while they are read adds them again. */
  private takeGroups(): [Streams, ...Streams[]][] {
    const groups = new Map<string, [Streams, ...Streams[]]>();
    for (const stream of this.behind) {
      const key = `${stream.accountId} ${stream.position}`;
      const group = groups.get(key);
      if (group) group.push(stream);
      else if (groups.size < MAX_READERS) groups.set(key, [stream]);
      else continue;
      this.behind.delete(stream);
    }
    return [...groups.values()];
  }

  private send(group: readonly Streams[], { events, hasMore }: FeedPage = { events: [], hasMore: false }): void {
    for (const stream of group) {
      stream.send(events);
      if (hasMore && !stream.isBlocked) this.behind.add(stream);
    }
  }
}
