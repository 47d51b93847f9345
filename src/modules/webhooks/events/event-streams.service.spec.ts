import { EventEmitter } from 'node:events';
import { Logger } from '@nestjs/common';
import type { Response } from 'express';
import { Registry } from 'prom-client';
import type { Env } from '../../../platform/config/env.js';
import type { DatabaseService } from '../../../platform/database/database.service.js';
import type { RedisService } from '../../../platform/redis/redis.service.js';
import type { EventFeedService, ReaderPosition } from './event-feed.service.js';
import type { EventSignalsService } from './event-signals.service.js';
import { EventStreamsService } from './event-streams.service.js';

const POLL_MS = 2000;

class FakeResponse extends EventEmitter {
  closed = false;
  writableEnded = false;
  writableNeedDrain = false;
  headers: object = {};
  readonly written: string[] = [];
  set(headers: object): void {
    this.headers = headers;
  }
  write(text: string): void {
    this.written.push(text);
  }
  end(): void {
    this.writableEnded = true;
  }
}

describe('EventStreamsService', () => {
  /** Of each poll. */
  let asked: ReaderPosition[][];
  /** Positions from which events were read. */
  let read: number[];
  /** That have events, as the database says. */
  let news: string[];
  let look: () => Promise<void>;
  let liveKeys: string[];
  /** Listeners by account. */
  let subscribed: Map<string, () => void>;
  /** Subscriptions that were made, ended ones too. */
  let subscriptions: string[];
  let registry: Registry;
  let logged: unknown[][];
  let streams: EventStreamsService;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    asked = [];
    read = [];
    news = [];
    look = () => Promise.resolve();
    liveKeys = ['key'];
    subscribed = new Map();
    subscriptions = [];
    registry = new Registry();
    logged = [];
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((...said: unknown[]) => void logged.push(said));
    const feed = {
      next: async (readers: readonly ReaderPosition[]) => {
        read.push(...readers.map(({ after }) => after));
        return readers.map(() => ({ events: [], hasMore: false }));
      },
      accountsWithNewEvents: async (readers: ReaderPosition[]) => {
        asked.push(readers);
        await look();
        return news;
      },
    };
    const signals = {
      subscribe: (accountId: string, listener: () => void) => {
        subscribed.set(accountId, listener);
        subscriptions.push(accountId);
        return () => subscribed.delete(accountId);
      },
    };
    const redis = { client: { defineCommand: () => undefined }, tryCommand: async () => null };
    streams = new EventStreamsService(
      { eventStreamsPerAccount: 3, eventStreamCommentSeconds: 15 } as Env,
      { prepared: async () => liveKeys.map((id) => ({ id })) } as unknown as DatabaseService,
      feed as unknown as EventFeedService,
      signals as unknown as EventSignalsService,
      redis as unknown as RedisService,
      registry,
    );
  });

  afterEach(() => {
    streams.beforeApplicationShutdown();
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const open = async (
    accountId: string,
    position: number,
    { keyId = 'key', response = new FakeResponse() } = {},
  ): Promise<FakeResponse> => {
    await streams.stream({ accountId, keyId, sessionId: null }, position, response as unknown as Response);
    return response;
  };
  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

  it('looks for news of each account behind the reader that is furthest behind and reads', async () => {
    await open('a', 7);
    await open('a', 3);
    const blocked = await open('a', 1);
    blocked.writableNeedDrain = true;
    await open('b', 5);
    await jest.advanceTimersByTimeAsync(POLL_MS);
    expect(asked).toEqual([
      [
        { accountId: 'a', after: 3 },
        { accountId: 'b', after: 5 },
      ],
    ]);
  });

  it('looks for nothing once every reader has left', async () => {
    const only = await open('a', 0);
    only.emit('close');
    await jest.advanceTimersByTimeAsync(5 * POLL_MS);
    expect(asked).toEqual([]);
  });

  it('begins with how soon to connect again, where the reader is, and what it has not read', async () => {
    const { headers, written } = await open('a', 7);
    expect(headers).toEqual({ 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' });
    expect(written).toHaveLength(1);
    const [, retry] = /^retry: (\d+)\nid: 7\n\n$/.exec(written[0] ?? '') ?? [];
    expect(Number(retry)).toBeGreaterThanOrEqual(500);
    expect(Number(retry)).toBeLessThan(2000);
    await pass(0);
    expect(read).toEqual([7]);
  });

  it('looks every two seconds, one look at a time, and reads for the accounts that have news', async () => {
    await open('a', 7);
    await open('b', 5);
    await pass(POLL_MS - 1);
    expect([asked.length, read]).toEqual([0, [7, 5]]);
    news = ['b', 'gone'];
    let end = (): void => undefined;
    look = () => new Promise((resolve) => (end = resolve));
    await pass(1);
    await pass(3 * POLL_MS);
    expect(asked).toHaveLength(1);
    end();
    await pass(0);
    expect(read).toEqual([7, 5, 5]);
    look = () => Promise.reject(new Error('no connection'));
    await pass(POLL_MS);
    look = () => Promise.resolve();
    await pass(POLL_MS);
    expect([asked.length, read]).toEqual([3, [7, 5, 5, 5]]);
    expect(logged).toEqual([[{ err: expect.any(Error) }, 'event streams could not look for events']]);
  });

  it('reads at once for a signal of its account, and again for a reader that has caught up', async () => {
    const response = await open('a', 7);
    await open('b', 5);
    await pass(0);
    subscribed.get('a')?.();
    await pass(0);
    expect([asked, read]).toEqual([[], [7, 5, 7]]);
    response.emit('drain');
    await pass(0);
    expect(read).toEqual([7, 5, 7, 7]);
  });

  it('writes a comment every 15 seconds, but not to a connection that is full or has ended', async () => {
    const [ready, full, ended] = [await open('a', 1), await open('a', 1), await open('a', 1)];
    full.writableNeedDrain = true;
    ended.writableEnded = true;
    await pass(14_999);
    expect(ready.written).toHaveLength(1);
    await pass(1);
    expect(ready.written.slice(1)).toEqual([':\n\n']);
    expect([full.written.length, ended.written.length]).toEqual([1, 1]);
  });

  it('ends the streams of keys that do not live any more, and no others', async () => {
    const [first, other] = [await open('a', 1), await open('a', 1, { keyId: 'other' })];
    liveKeys = ['other'];
    await pass(POLL_MS);
    expect([first.writableEnded, other.writableEnded]).toEqual([true, false]);
  });

  it('has as many streams of an account as it may, and a slot again once one is closed', async () => {
    const [first] = [await open('a', 1), await open('a', 1), await open('a', 1)];
    await expect(open('a', 1)).rejects.toMatchObject({ status: 429, details: { limit: 3, used: 3 } });
    await open('b', 1);
    expect(streams.open).toBe(4);
    expect(await registry.metrics()).toContain('event_streams 4');
    first.emit('close');
    expect(streams.open).toBe(3);
    await open('a', 1);
    expect(streams.open).toBe(4);
  });

  it('keeps no stream, and no slot, of a client that went before it began', async () => {
    const response = new FakeResponse();
    response.closed = true;
    for (let i = 0; i < 5; i++) await open('a', 1, { response });
    expect([streams.open, response.written, subscriptions]).toEqual([0, [], []]);
  });

  it('ends its streams when the process stops, and takes no more', async () => {
    const responses = [await open('a', 1), await open('b', 1)];
    const late = open('c', 1);
    streams.beforeApplicationShutdown();
    await expect(late).rejects.toMatchObject({ status: 503, retryAfter: 1 });
    expect(responses.map(({ writableEnded }) => writableEnded)).toEqual([true, true]);
    await expect(open('a', 1)).rejects.toMatchObject({ status: 503, retryAfter: 1 });
    expect([subscribed.size, jest.getTimerCount()]).toEqual([0, 0]);
  });

  it('listens to the accounts of its open streams only, once to each, and looks while there is one', async () => {
    const [first, again, other] = [await open('a', 1), await open('a', 1), await open('b', 1)];
    expect(subscriptions).toEqual(['a', 'b']);
    first.emit('close');
    expect([...subscribed.keys()]).toEqual(['a', 'b']);
    again.emit('close');
    expect([...subscribed.keys()]).toEqual(['b']);
    other.emit('close');
    // That of the slots is left.
    expect([subscribed.size, jest.getTimerCount()]).toEqual([0, 1]);
    await open('a', 1);
    expect(subscriptions).toEqual(['a', 'b', 'a']);
    await pass(POLL_MS);
    expect(asked).toHaveLength(1);
  });
});
