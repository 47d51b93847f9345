import { startCpuTime } from '../../../test/support/cpu-wait.js';
import { matchesWeakly, parseEntityTags, parseRetryAfter } from './header-values.js';

describe('parseEntityTags', () => {
  it.each([
    ['*', '*'],
    [' * ', '*'],
    ['"a"', ['"a"']],
    ['"a", W/"b" ,"c,d"', ['"a"', 'W/"b"', '"c,d"']],
    ['""', ['""']],
  ])('reads %j', (header, tags) => {
    expect(parseEntityTags(header)).toEqual(tags);
  });

  it.each(['', 'a', '"a', '"a" "b"', '"a",', '*, "a"', 'w/"a"', '"a b"', "'a'"])('finds %j wrong', (header) => {
    expect(parseEntityTags(header)).toBeNull();
  });

  it('takes a time in proportion to the header', () => {
    const cpuMs = startCpuTime();
    expect(parseEntityTags(`"a"${'\t,'.repeat(4000)}`)).toBeNull();
    expect(parseEntityTags(`${'"a" ,\t'.repeat(1300)}x`)).toBeNull();
    expect(cpuMs()).toBeLessThan(500);
  });
});

describe('matchesWeakly', () => {
  it('takes any, the tag itself, and its weak form', () => {
    expect([matchesWeakly('*', '"a"'), matchesWeakly(['"b"', '"a"'], '"a"'), matchesWeakly(['W/"a"'], '"a"')]).toEqual([
      true,
      true,
      true,
    ]);
    expect(matchesWeakly(['"b"'], '"a"')).toBe(false);
  });
});

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
