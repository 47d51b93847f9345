import { parseRetryAfter } from './retry-after.js';

const NOW = new Date('2026-11-21T10:00:00Z');

describe('parseRetryAfter', () => {
  it.each<[string, string | null | undefined, number | null]>([
    ['seconds', '120', 120_000],
    ['seconds with blanks around them', ' 120 ', 120_000],
    ['zero', '0', 0],
    ['an HTTP date', 'Sat, 21 Nov 2026 10:02:00 GMT', 120_000],
    ['a date in the past', 'Sat, 21 Nov 2026 09:00:00 GMT', 0],
    ['a date that does not exist', 'Sat, 99 Nov 2026 10:02:00 GMT', null],
    ['a date in another format', '2026-11-21T10:02:00Z', null],
    ['words', 'soon', null],
    ['a negative number', '-120', null],
    ['a fraction', '120.5', null],
    ['an empty header', '', null],
    ['no header', undefined, null],
    ['null', null, null],
  ])('reads %s', (_name, header, expected) => {
    expect(parseRetryAfter(header, NOW)).toBe(expected);
  });

  it('reads a number of any length', () => {
    expect(parseRetryAfter('9'.repeat(400), NOW)).toBe(Number.POSITIVE_INFINITY);
  });
});
