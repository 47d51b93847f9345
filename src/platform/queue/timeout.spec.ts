import { setTimeout as delay } from 'node:timers/promises';
import { Timeout } from './timeout.js';

const never = (): Promise<never> => new Promise(() => undefined);

describe('Patience', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('gives the answer, or the error, that comes in time, and leaves no timer behind', async () => {
    const patience = new Timeout(250);
    await expect(patience.within(Promise.resolve('yes'))).resolves.toBe('yes');
    await expect(patience.within(Promise.reject(new Error('no')))).rejects.toThrow('no');
    jest.advanceTimersByTime(50);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('gives up after the time, for each by its own beginning', async () => {
    const patience = new Timeout(250);
    const ends: string[] = [];
    const wait = (name: string) =>
      patience.within(never()).catch(({ message }: Error) => ends.push(`${name}: ${message}`));
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

  it('a stall of this process counts for one step', async () => {
    jest.useRealTimers();
    const patience = new Timeout(100);
    const answer = patience.within(delay(10, 'late but there'));
    const until = performance.now() + 300;
    while (performance.now() < until);
    await expect(answer).resolves.toBe('late but there');
  });
});
