import { Logger } from '@nestjs/common';
import type { ReaderPosition } from '../event-feed.queries.js';
import type { FeedPage } from '../event-feed.service.js';
import type { EventStream } from './event-stream.js';

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
