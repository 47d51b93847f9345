import { CircuitBreaker } from './circuit-breaker.js';

describe('CircuitBreaker', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('waits 5 s, then as long as it has been open, and never more than 5 minutes', () => {
    const breaker = new CircuitBreaker();
    const waits = Array.from({ length: 10 }, () => {
      const seconds = breaker.open('no quota');
      jest.advanceTimersByTime(seconds * 1000);
      return seconds;
    });
    expect(waits).toEqual([5, 5, 10, 20, 40, 80, 160, 300, 300, 300]);
  });

  it('counts failures that come during one wait once', () => {
    const breaker = new CircuitBreaker();
    expect(breaker.open('no quota')).toBe(5);
    jest.advanceTimersByTime(2000);
    expect([breaker.open('no quota'), breaker.open('no quota')]).toEqual([3, 3]);
  });

  it('knows its cause until the next success, and refuses until the next try', () => {
    const breaker = new CircuitBreaker();
    expect([breaker.cause, breaker.refusal]).toEqual([null, null]);
    breaker.open('no quota');
    expect([breaker.cause, breaker.refusal]).toEqual(['no quota', 'no quota']);
    jest.advanceTimersByTime(5000);
    expect([breaker.cause, breaker.refusal]).toEqual(['no quota', null]);
    breaker.close();
    expect([breaker.cause, breaker.refusal]).toEqual([null, null]);
  });

  it('rounds a wait up to whole seconds, and begins anew after a success', () => {
    const breaker = new CircuitBreaker();
    expect(breaker.waitSeconds).toBe(0);
    breaker.open('no quota');
    jest.advanceTimersByTime(2400);
    expect([breaker.waitSeconds, breaker.open('no quota')]).toEqual([3, 3]);
    jest.advanceTimersByTime(2600);
    expect(breaker.waitSeconds).toBe(0);
    jest.advanceTimersByTime(60_000);
    expect(breaker.open('no quota')).toBe(65);
    breaker.close();
    expect([breaker.waitSeconds, breaker.open('no key'), breaker.cause]).toEqual([0, 5, 'no key']);
  });
});
