import { triedAddresses } from './checked-connector.js';

const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i + 1}`);

describe('triedAddresses (D34)', () => {
  it('tries at most 8 addresses of a name, of both families', () => {
    const tried = triedAddresses([...numbered('192.0.2.', 100), ...numbered('2001:db8::', 100)]);
    expect(tried).toEqual([1, 2, 3, 4].flatMap((i) => [`192.0.2.${i}`, `2001:db8::${i}`]));
    expect(triedAddresses(numbered('192.0.2.', 9))).toEqual(numbered('192.0.2.', 8));
    expect(triedAddresses(['192.0.2.1', '2001:db8::1', '2001:db8::2'])).toEqual([
      '192.0.2.1',
      '2001:db8::1',
      '2001:db8::2',
    ]);
  });
});
