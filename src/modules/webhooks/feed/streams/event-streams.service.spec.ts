import { EventEmitter } from 'node:events';
import type { Response } from 'express';
import { Registry } from 'prom-client';
import type { Env } from '../../../../platform/config/env.js';
import type { DatabaseService } from '../../../../platform/database/database.service.js';
import type { MetricsMiddleware } from '../../../../platform/observability/metrics.middleware.js';
import type { RedisService } from '../../../../platform/queue/redis.service.js';
import type { ReaderPosition } from '../event-feed.queries.js';
import type { EventFeedService } from '../event-feed.service.js';
import type { EventSignalsService } from '../event-signals.service.js';
import { EventStreamsService } from './event-streams.service.js';

const POLL_MS = 2000;

class FakeResponse extends EventEmitter {
  closed = false;
  writableEnded = false;
  writableNeedDrain = false;
  set(): void {}
  write(): void {}
  end(): void {
    this.writableEnded = true;
  }
}

describe('EventStreamsService while no signal arrives', () => {
  /** Of each poll. */
  let asked: ReaderPosition[][];
  let streams: EventStreamsService;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    asked = [];
    const feed = {
      next: async (readers: readonly ReaderPosition[]) => readers.map(() => []),
      accountsWithNews: async (readers: ReaderPosition[]) => {
        asked.push(readers);
        return [];
      },
    };
    const redis = { client: { defineCommand: () => undefined }, tryCommand: async () => null };
    streams = new EventStreamsService(
      { eventStreamsPerAccount: 10, eventStreamCommentSeconds: 15 } as Env,
      { prepared: async () => [{ id: 'key' }] } as unknown as DatabaseService,
      feed as unknown as EventFeedService,
      { subscribe: () => () => undefined } as unknown as EventSignalsService,
      redis as unknown as RedisService,
      { registry: new Registry() } as unknown as MetricsMiddleware,
    );
  });

  afterEach(() => {
    streams.beforeApplicationShutdown();
    jest.useRealTimers();
  });

  const open = async (accountId: string, position: number): Promise<FakeResponse> => {
    const response = new FakeResponse();
    await streams.stream({ accountId, keyId: 'key' }, position, response as unknown as Response);
    return response;
  };

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
});
