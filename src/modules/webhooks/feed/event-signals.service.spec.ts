import type { SignalListener, SignalsService } from '../../../platform/redis/signals.service.js';
import { EventSignalsService } from './event-signals.service.js';

describe('EventSignalsService', () => {
  let published: string[][];
  let listener: SignalListener | undefined;
  let signals: EventSignalsService;

  beforeEach(() => {
    jest.useFakeTimers();
    published = [];
    signals = new EventSignalsService({
      publish: async (...message: string[]) => void published.push(message),
      subscribe: (_channel: string, added: SignalListener) => {
        listener = added;
        return () => (listener = undefined);
      },
    } as unknown as SignalsService);
  });

  afterEach(() => jest.useRealTimers());

  it('announces each account once in 20 ms, and again afterwards', () => {
    for (const account of ['a', 'b', 'a']) signals.announce(account);
    jest.advanceTimersByTime(19);
    expect(published).toEqual([]);
    jest.advanceTimersByTime(1);
    signals.announce('a');
    jest.advanceTimersByTime(100);
    expect(published).toEqual([
      ['events', 'a,b'],
      ['events', 'a'],
    ]);
  });

  it('announces what is left when the process stops, and nothing without it', () => {
    signals.announce('a');
    signals.onApplicationShutdown();
    signals.onApplicationShutdown();
    jest.advanceTimersByTime(100);
    expect(published).toEqual([['events', 'a']]);
  });

  it('tells its listeners the accounts, or that some may have been missed', () => {
    const heard: unknown[] = [];
    const end = signals.subscribe((accountIds) => heard.push(accountIds));
    listener?.('a,b');
    listener?.(null);
    expect(heard).toEqual([['a', 'b'], null]);
    end();
    expect(listener).toBeUndefined();
  });
});
