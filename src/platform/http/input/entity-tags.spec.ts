import { startCpuTime } from '../../../../test/support/cpu-wait.js';
import { matchesWeakly, parseEntityTags } from './entity-tags.js';

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
