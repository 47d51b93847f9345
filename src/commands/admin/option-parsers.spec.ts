import { InvalidArgumentError } from 'commander';
import { choice, choices, count, day, email, futureTime, networks, quota, text } from './option-parsers.js';

type Parse = (value: string, previous: unknown) => unknown;

const parse = (parser: Parse, value: string): unknown => parser(value, undefined);

function errorOf(parser: Parse, value: string, previous?: unknown): string {
  try {
    parser(value, previous);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError);
    return (error as Error).message;
  }
  throw new Error(`${JSON.stringify(value)} was accepted`);
}

describe('option parsers (D30)', () => {
  it('accept text as it is typed', () => {
    expect(parse(text(20), 'Müller & Söhne 🎙')).toBe('Müller & Söhne 🎙');
  });

  it.each([[''], ['  '], ['x'.repeat(21)], ['a\u0007b'], ['a\nb'], ['a\ud800']])('refuse the text %j', (value) => {
    expect(errorOf(text(20), value)).toMatch(/^It must be text of 1 to 20 characters/);
  });

  it('count characters, not code units', () => {
    expect(parse(text(20), '🎙'.repeat(20))).toBe('🎙'.repeat(20));
  });

  it.each<[string, Parse, string]>([
    ['text', text(20), 'a'],
    ['email', email, 'ops@example.com'],
    ['choice', choice(['a']), 'a'],
    ['choices', choices(['a']), 'a'],
    ['count', count, '1'],
    ['futureTime', futureTime, '2090-01-31T12:00:00Z'],
  ])('%s refuses a repeated option', (_, parser, value) => {
    expect(errorOf(parser, value, parse(parser, value))).toMatch(/only once/);
  });

  it('accept e-mail addresses only', () => {
    expect(parse(email, 'ops@example.com')).toBe('ops@example.com');
    for (const value of [
      'ops',
      'ops@',
      '@example.com',
      'a@b@example.com',
      'ops@example.com,x@example.com',
      'ops@localhost',
      'a b@c.de',
    ]) {
      expect(errorOf(email, value)).toBe('It must be an e-mail address.');
    }
  });

  it('accept one of the choices, or several of them, each once', () => {
    const plans = ['free', 'pro'] as const;
    expect(parse(choice(plans), 'pro')).toBe('pro');
    expect(parse(choices(plans), 'pro, free')).toEqual(['pro', 'free']);
    for (const value of ['gold', 'free,pro', 'FREE']) {
      expect(errorOf(choice(plans), value)).toBe('Allowed choices are free, pro.');
    }
    for (const value of ['free,', 'free,free', 'free;pro', 'FREE']) {
      expect(errorOf(choices(plans), value)).toMatch(/^Allowed, separated by commas and each once, are free, pro/);
    }
  });

  it('accept integers from 1 to a million', () => {
    expect(parse(count, '1')).toBe(1);
    expect(parse(count, '1000000')).toBe(1_000_000);
    for (const value of ['0', '1000001', '1.5', '1e3', '0x10', '+1', '-1', 'ten']) {
      expect(errorOf(count, value)).toBe('It must be an integer from 1 to 1000000.');
    }
  });

  it('accept times in the future', () => {
    expect(parse(futureTime, '2090-01-31T12:00:00Z')).toBe('2090-01-31T12:00:00Z');
    for (const value of ['2020-01-01T00:00:00Z', '2090-02-30T00:00:00Z', 'tomorrow']) {
      expect(errorOf(futureTime, value)).toMatch(/^It must be a time in the future/);
    }
  });

  it('accept networks, separated by commas', () => {
    expect(parse(networks, '203.0.113.0/24,2001:db8::/32')).toEqual(['203.0.113.0/24', '2001:db8::/32']);
    expect(errorOf(networks, '203.0.113.9/24')).toContain('the first address of each network: 203.0.113.0/24');
    expect(errorOf(networks, '203.0.113.0/24,')).toContain('It must be networks, such as');
  });

  it('accept a quota: an integer from 0, unlimited, or plan', () => {
    const quotas = ['0', '9007199254740991', 'unlimited', 'plan'];
    expect(quotas.map((value) => parse(quota, value))).toEqual([0, Number.MAX_SAFE_INTEGER, 'unlimited', 'plan']);
    for (const value of ['-1', '1.5', '1e3', '9007199254740992', 'none', 'Unlimited']) {
      expect(errorOf(quota, value)).toBe('It must be an integer from 0, unlimited, or plan.');
    }
  });

  it('accept days that exist', () => {
    expect(parse(day, '2024-02-29')).toBe('2024-02-29');
    for (const value of ['2026-02-29', '2026-1-1', '2026-01-31T00:00:00Z', 'today']) {
      expect(errorOf(day, value)).toMatch(/^It must be a day that exists/);
    }
  });

  it('accept choices of 500 characters together', () => {
    const long = 'a'.repeat(500);
    expect(parse(choices([long]), long)).toEqual([long]);
    expect(errorOf(choices([long]), `${long},`)).toMatch(/1 to 500 characters/);
  });

  it('limit an e-mail address to 254 characters, and its name to 64', () => {
    const address = (length: number) => `a@${'b.'.repeat((length - 5) / 2)}com`;
    expect(address(253)).toHaveLength(253);
    expect(parse(email, address(253))).toBe(address(253));
    expect(errorOf(email, address(255))).toMatch(/^It must be text of 1 to 254 characters/);
    expect(parse(email, `${'a'.repeat(64)}@b.com`)).toBeDefined();
    expect(errorOf(email, `${'a'.repeat(65)}@b.com`)).toBe('It must be an e-mail address.');
  });
});
