import { day, expiry, integer, list, listOf, tag } from './parsers.js';

describe('option values', () => {
  it('reads tags, each once, with any value', () => {
    expect(tag('b=2=3', tag('a=', undefined))).toEqual({ a: '', b: '2=3' });
    expect(() => tag('a=2', { a: '1' })).toThrow('The tag a is given twice.');
    expect(() => tag('=1', undefined)).toThrow('Write a tag as KEY=VALUE.');
  });

  it('reads lists, also from repeated options', () => {
    expect(list('a, b,', ['z'])).toEqual(['z', 'a', 'b']);
    expect(() => listOf(['x'])('x,y', undefined)).toThrow('y is none of x.');
  });

  it('reads days', () => {
    const today = new Date().toISOString().slice(0, 10);
    expect([day('today', undefined), day('0d', undefined)]).toEqual([today, today]);
    expect(day('2028-02-29', undefined)).toBe('2028-02-29');
    for (const wrong of ['2026-02-30', '2026-13-01', 'tomorrow', '20260101', '']) {
      expect(() => day(wrong, undefined)).toThrow('Write a day as');
    }
  });

  it('reads times of expiry', () => {
    expect(Math.round((Date.parse(expiry('2d', undefined)) - Date.now()) / 3_600_000)).toBe(48);
    expect(expiry('2030-01-31T12:00:00+01:00', undefined)).toBe('2030-01-31T12:00:00+01:00');
    for (const wrong of ['2030-01-31', '2030-01-31T12:00:00', '5w']) expect(() => expiry(wrong, undefined)).toThrow();
  });

  it('reads whole numbers in their range', () => {
    expect(integer(1, 8)('8', undefined)).toBe(8);
    for (const wrong of ['0', '9', '1.5', '-1', '1e0', '']) expect(() => integer(1, 8)(wrong, undefined)).toThrow();
  });
});
