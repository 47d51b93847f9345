import { beginningOf, instantOf, localDay, readDay } from './local-day';

describe('readDay', () => {
  it.each(['2026-10-25', '2024-02-29', '0001-01-01', '9999-12-31'])('takes %s', (day) =>
    expect(readDay(day)).toBe(day),
  );

  it.each([null, '', '2026-02-30', '2026-13-01', '2026-1-1', '26-10-25', '12026-10-25', 'today'])(
    'takes %j as none',
    (text) => expect(readDay(text)).toBe(''),
  );
});

describe('beginningOf', () => {
  it('is the first moment of the day, also of the year 1, and of days after it', () => {
    expect(beginningOf('2026-10-25')).toEqual(new Date(2026, 9, 25));
    expect(beginningOf('2026-12-31', 1)).toEqual(new Date(2027, 0, 1));
    expect(beginningOf('0001-01-01').getFullYear()).toBe(1);
    expect(localDay(beginningOf('2026-03-01', -1))).toBe('2026-02-28');
  });
});

describe('instantOf', () => {
  it('stays within the years that the service takes', () => {
    expect(instantOf(new Date('2026-10-24T22:00:00Z'))).toBe('2026-10-24T22:00:00.000Z');
    expect(instantOf(new Date('0000-12-31T23:00:00Z'))).toBe('0001-01-01T00:00:00.000Z');
    expect(instantOf(beginningOf('9999-12-31', 2))).toBe('9999-12-31T23:59:59.999Z');
  });
});
