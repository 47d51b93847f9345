import { refusal } from '../../../test/sdk/refusal.js';
import { ConnectionError, InvalidResponseError, TimeoutError } from './errors.js';
import { delayBefore, isRetryable, sleep } from './retry.js';

describe('isRetryable', () => {
  it.each<[string, unknown, { repeatable: boolean; other: boolean }]>([
    ['a lost connection', new ConnectionError(''), { repeatable: true, other: false }],
    ['a time-out', new TimeoutError(''), { repeatable: true, other: false }],
    ['something else that answered', new InvalidResponseError(''), { repeatable: false, other: false }],
    ['an error of the caller', new Error(''), { repeatable: false, other: false }],
    ['400', refusal(400), { repeatable: false, other: false }],
    ['404', refusal(404, 1), { repeatable: false, other: false }],
    ['408', refusal(408), { repeatable: true, other: false }],
    ['409', refusal(409), { repeatable: false, other: false }],
    ['429', refusal(429), { repeatable: true, other: true }],
    ['429 in two minutes', refusal(429, 120), { repeatable: true, other: true }],
    ['429 in more', refusal(429, 121), { repeatable: false, other: false }],
    ['499', refusal(499), { repeatable: false, other: false }],
    ['500', refusal(500), { repeatable: true, other: false }],
    ['502', refusal(502, 1), { repeatable: true, other: false }],
    ['503', refusal(503), { repeatable: true, other: false }],
    ['503 with Retry-After', refusal(503, 0), { repeatable: true, other: true }],
    ['503 in more than two minutes', refusal(503, 121), { repeatable: false, other: false }],
  ])('%s', (_, error, { repeatable, other }) => {
    expect([isRetryable(error, true), isRetryable(error, false)]).toEqual([repeatable, other]);
  });
});

describe('delayBefore', () => {
  const delays = (random: number) =>
    [1, 2, 3, 4, 5, 6, 7].map((attempt) => delayBefore(new ConnectionError(''), attempt, () => random));

  it('doubles from half a second to eight, of which half is random', () => {
    expect(delays(1)).toEqual([500, 1000, 2000, 4000, 8000, 8000, 8000]);
    expect(delays(0)).toEqual([250, 500, 1000, 2000, 4000, 4000, 4000]);
  });

  it('is what the service asks for, and up to half a second more', () => {
    expect([0, 1].map((random) => delayBefore(refusal(429, 3), 5, () => random))).toEqual([3000, 3500]);
    expect(delayBefore(refusal(503, 0), 5, () => 0)).toBe(0);
    expect(delayBefore(refusal(500), 2, () => 1)).toBe(1000);
  });
});

describe('sleep', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('ends after its time', async () => {
    let ended = false;
    void sleep(100).then(() => (ended = true));
    await jest.advanceTimersByTimeAsync(99);
    expect(ended).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    expect(ended).toBe(true);
  });

  it('ends at once, with its reason, when the signal is aborted, also before', async () => {
    const controller = new AbortController();
    const slept = expect(sleep(100, controller.signal)).rejects.toThrow('enough');
    controller.abort(new Error('enough'));
    await slept;
    await expect(sleep(100, controller.signal)).rejects.toThrow('enough');
    expect(jest.getTimerCount()).toBe(0);
  });
});
