import { setTimeout as delay } from 'node:timers/promises';
import { Timeout } from './timeout.js';

const never = (): Promise<never> => new Promise(() => undefined);

describe('Timeout', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('settles as an answer in time does, and leaves no timer running', async () => {
    const timeout = new Timeout(250);
    await expect(timeout.within(Promise.resolve('yes'))).resolves.toBe('yes');
    await expect(timeout.within(Promise.reject(new Error('no')))).rejects.toThrow('no');
    jest.advanceTimersByTime(50);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('rejects after the time, counted from the start of each wait', async () => {
    const timeout = new Timeout(250);
    const ends: string[] = [];
    const wait = (name: string) =>
      timeout.within(never()).catch(({ message }: Error) => ends.push(`${name}: ${message}`));
    const first = wait('first');
    jest.advanceTimersByTime(100);
    const second = wait('second');
    jest.advanceTimersByTime(149);
    await Promise.resolve();
    expect(ends).toEqual([]);
    jest.advanceTimersByTime(1);
    await first;
    expect(ends).toEqual(['first: no answer within 250 ms']);
    jest.advanceTimersByTime(100);
    await second;
    expect(ends).toHaveLength(2);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('counts a stall of the event loop as one step', async () => {
    jest.useRealTimers();
    const timeout = new Timeout(100);
    const answer = timeout.within(delay(10, 'in time'));
    const until = performance.now() + 300;
    while (performance.now() < until);
    await expect(answer).resolves.toBe('in time');
  });
});
