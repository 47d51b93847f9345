import { DeliveryAttempt } from './delivery-attempt.js';

const LIMITS = { connectMs: 5000, headersMs: 15_000 };

describe('DeliveryAttempt', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  const reasonOf = ({ signal }: DeliveryAttempt): unknown => signal.aborted && signal.reason;
  const timeout = (message: string) => expect.objectContaining({ kind: 'timeout', message });

  it('ends without a connection in time', () => {
    const attempt = new DeliveryAttempt(LIMITS);
    attempt.connecting();
    jest.advanceTimersByTime(4999);
    expect(reasonOf(attempt)).toBe(false);
    jest.advanceTimersByTime(1);
    expect(reasonOf(attempt)).toEqual(timeout('no connection within 5 s'));
  });

  it('ends without an answer in time, counted from its start', () => {
    const attempt = new DeliveryAttempt(LIMITS);
    jest.advanceTimersByTime(4000);
    attempt.connecting();
    attempt.connected();
    jest.advanceTimersByTime(10_999);
    expect(reasonOf(attempt)).toBe(false);
    jest.advanceTimersByTime(1);
    expect(reasonOf(attempt)).toEqual(timeout('no answer within 15 s'));
  });

  it.each([false, true])('ends when its caller cancels it, also before its start: %s', (before) => {
    const caller = new AbortController();
    if (before) caller.abort();
    const attempt = new DeliveryAttempt(LIMITS, caller.signal);
    caller.abort();
    expect(reasonOf(attempt)).toMatchObject({ kind: 'reset', message: 'the attempt was cancelled' });
  });

  it('ends for its first reason', () => {
    const attempt = new DeliveryAttempt(LIMITS);
    attempt.fail('reset', 'the service was stopped');
    jest.advanceTimersByTime(15_000);
    expect(reasonOf(attempt)).toMatchObject({ kind: 'reset', message: 'the service was stopped' });
  });

  it('is ended by nothing once it is settled, and has lasted until then', () => {
    const caller = new AbortController();
    const attempt = new DeliveryAttempt(LIMITS, caller.signal);
    attempt.connecting();
    jest.advanceTimersByTime(84);
    expect(attempt.durationMs).toBe(84);
    attempt.settle();
    jest.advanceTimersByTime(100_000);
    attempt.settle();
    caller.abort();
    expect(reasonOf(attempt)).toBe(false);
    expect(attempt.durationMs).toBe(84);
    expect(jest.getTimerCount()).toBe(0);
  });
});
