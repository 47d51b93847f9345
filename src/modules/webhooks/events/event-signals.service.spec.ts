import type { SignalListener, SignalsService } from '../../../platform/redis/signals.service.js';
import { EventSignalsService } from './event-signals.service.js';

describe('EventSignalsService', () => {
  let published: string[][];
  /** By channel. */
  let listeners: Map<string, SignalListener>;
  let signals: EventSignalsService;

  beforeEach(() => {
    jest.useFakeTimers();
    published = [];
    listeners = new Map();
    signals = new EventSignalsService({
      publish: async (...message: string[]) => void published.push(message),
      subscribe: (channel: string, listener: SignalListener) => {
        listeners.set(channel, listener);
        return () => listeners.delete(channel);
      },
    } as unknown as SignalsService);
  });

  afterEach(() => jest.useRealTimers());

  it('announces each account once in 20 ms on a channel of its own, and again afterwards', async () => {
    for (const account of ['a', 'b', 'a']) signals.announce(account);
    await jest.advanceTimersByTimeAsync(19);
    expect(published).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    signals.announce('a');
    await jest.advanceTimersByTimeAsync(100);
    expect(published).toEqual([
      ['events:a', 'new'],
      ['events:b', 'new'],
      ['events:a', 'new'],
    ]);
  });

  it('announces what is left when the process stops, and nothing without it', async () => {
    signals.announce('a');
    await signals.onApplicationShutdown();
    await signals.onApplicationShutdown();
    await jest.advanceTimersByTimeAsync(100);
    expect(published).toEqual([['events:a', 'new']]);
  });

  it('listens to one account, for messages and for times in which some may have been missed', () => {
    let heard = 0;
    const end = signals.subscribe('a', () => heard++);
    expect([...listeners.keys()]).toEqual(['events:a']);
    listeners.get('events:a')?.('new');
    listeners.get('events:a')?.(null);
    expect(heard).toBe(2);
    end();
    expect(listeners.size).toBe(0);
  });
});
