import { InvalidArgumentError } from 'commander';
import { choice, choices, count, email, futureTime, text } from './option-parsers.js';

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
});
