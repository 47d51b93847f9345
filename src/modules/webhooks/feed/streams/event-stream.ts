import type { Response } from 'express';
import type { FeedEvent } from '../event-feed.queries.js';
import { presentStreamedEvent } from '../event-feed.presenter.js';

/** How long a client waits before it connects again: spread, because a stop ends all streams of a process at once. */
const RETRY_MS = { min: 500, spread: 1500 };

/** nginx would collect the events. `Cache-Control: no-store` is on every answer of the API. */
export const STREAM_HEADERS = { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' };

/** Who reads a stream. */
export interface StreamReader {
  accountId: string;
  keyId: string;
}

/** One connection that receives the events of its account (D40). */
export class EventStream {
  readonly accountId: string;
  readonly keyId: string;

  /** @param position sequence of the last event that the reader has. */
  constructor(
    { accountId, keyId }: StreamReader,
    public position: number,
    private readonly response: Response,
  ) {
    this.accountId = accountId;
    this.keyId = keyId;
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
