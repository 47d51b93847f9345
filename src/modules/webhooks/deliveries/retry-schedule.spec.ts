import { delayOfNextAttempt } from './retry-schedule.js';

const NOW = new Date('2026-11-21T10:00:00Z');
const SCHEDULE = [5, 300, 7200];

function delayMs(failed: Partial<Parameters<typeof delayOfNextAttempt>[0]>): number | null {
  return delayOfNextAttempt({
    attempt: 1,
    schedule: SCHEDULE,
    now: NOW,
    retryAfter: null,
    random: () => 0.5,
    ...failed,
  });
}

describe('delayOfNextAttempt', () => {
  it('uses each gap once: n gaps make n + 1 attempts', () => {
    expect([1, 2, 3, 4, 5].map((attempt) => delayMs({ attempt }))).toEqual([5000, 300_000, 7_200_000, null, null]);
    expect(delayMs({ schedule: [] })).toBeNull();
  });

  it('varies each gap by at most a fifth', () => {
    expect(delayMs({ attempt: 2, random: () => 0 })).toBe(240_000);
    expect(delayMs({ attempt: 2, random: () => 1 - Number.EPSILON })).toBeCloseTo(360_000, 3);
    for (let round = 0; round < 200; round += 1) {
      const ms = delayMs({ attempt: 2, random: undefined }) ?? 0;
      expect(ms).toBeGreaterThanOrEqual(240_000);
      expect(ms).toBeLessThanOrEqual(360_000);
    }
  });

  it.each([
    ['seconds', '120', 120_000],
    ['seconds with blanks around them', ' 120 ', 120_000],
    ['an HTTP date', 'Sat, 21 Nov 2026 10:02:00 GMT', 120_000],
    ['an hour at most, in seconds', '86400', 3_600_000],
    ['an hour at most, however large the number', '9'.repeat(400), 3_600_000],
    ['an hour at most, as a date', 'Sun, 22 Nov 2026 10:00:00 GMT', 3_600_000],
    ['the gap when that is later', '2', 5000],
    ['the gap when the date has passed', 'Sat, 21 Nov 2026 09:00:00 GMT', 5000],
    ['the gap when the date does not exist', 'Sat, 99 Nov 2026 10:02:00 GMT', 5000],
    ['the gap for words', 'soon', 5000],
    ['the gap for a negative number', '-120', 5000],
    ['the gap for a fraction', '120.5', 5000],
    ['the gap for nothing', '', 5000],
  ])('obeys Retry-After: %s', (_name, retryAfter, expected) => {
    expect(delayMs({ retryAfter })).toBe(expected);
  });

  it('never lets Retry-After shorten a gap or add an attempt', () => {
    expect(delayMs({ attempt: 3, retryAfter: '86400' })).toBe(7_200_000);
    expect(delayMs({ attempt: 4, retryAfter: '60' })).toBeNull();
  });
});
