import { Options, UsageError } from './options.js';

const options = (...args: string[]): Options =>
  new Options(args, ['name', 'email', 'plan', 'scopes', 'limit', 'until']);
const refusal = (read: () => unknown): string => {
  try {
    read();
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as Error).message;
  }
  throw new Error('it was taken');
};

describe('Options (D30)', () => {
  it('take text as it is typed, and are undefined where nothing is', () => {
    expect(options('--name', 'Müller & Söhne 🎙').optionalText('name', 20)).toBe('Müller & Söhne 🎙');
    expect(options().optionalText('name', 20)).toBeUndefined();
    expect(options('--json').json).toBe(true);
    expect(options().json).toBe(false);
  });

  it.each([[''], ['  '], ['x'.repeat(21)], ['a\u0007b'], ['a\nb'], ['a\ud800']])('refuse the text %j', (text) => {
    expect(refusal(() => options('--name', text).optionalText('name', 20))).toMatch(/^--name must be text of 1 to 20/);
  });

  it('count characters, not code units', () => {
    expect(options('--name', '🎙'.repeat(20)).optionalText('name', 20)).toBe('🎙'.repeat(20));
  });

  it('name what is missing, given twice, or unknown', () => {
    expect(refusal(() => options().requiredText('name', 20))).toBe('--name is required');
    expect(refusal(() => options().requiredEmail('email'))).toBe('--email is required');
    expect(refusal(() => options('--name', 'a', '--name', 'b').optionalText('name', 20))).toMatch(/--name.*once/);
    expect(refusal(() => options('--colour', 'red'))).toMatch(/--colour/);
    expect(refusal(() => options('stray'))).toMatch(/stray/);
    expect(refusal(() => options('--name'))).toMatch(/--name/);
  });

  it('take e-mail addresses', () => {
    expect(options('--email', 'ops@example.com').requiredEmail('email')).toBe('ops@example.com');
    for (const text of ['ops', 'ops@', '@example.com', 'a@b@example.com', 'ops@example.com,x@example.com']) {
      expect(refusal(() => options('--email', text).optionalEmail('email'))).toMatch(
        /^--email must be an e-mail address/,
      );
    }
  });

  it('take one of a choice, or several of them, each once', () => {
    const plans = ['free', 'pro'] as const;
    expect(options('--plan', 'pro').choice('plan', plans)).toBe('pro');
    expect(options('--scopes', 'pro, free').choices('scopes', plans)).toEqual(['pro', 'free']);
    expect(refusal(() => options('--plan', 'gold').choice('plan', plans))).toBe('--plan must be one of free, pro');
    expect(refusal(() => options('--plan', 'free,pro').choice('plan', plans))).toBe('--plan must be one of free, pro');
    for (const text of ['free,', 'free,free', 'free;pro', 'FREE']) {
      expect(refusal(() => options('--scopes', text).choices('scopes', plans))).toMatch(/^--scopes must be some of/);
    }
  });

  it('take whole numbers from 1 to a million', () => {
    expect(options('--limit', '1').count('limit')).toBe(1);
    expect(options('--limit', '1000000').count('limit')).toBe(1_000_000);
    for (const text of ['0', '1000001', '1.5', '1e3', '0x10', '+1', 'ten']) {
      expect(refusal(() => options('--limit', text).count('limit'))).toMatch(/^--limit must be an integer/);
    }
    expect(refusal(() => options('--limit=-1').count('limit'))).toMatch(/^--limit must be an integer/);
  });

  it('take times in the future', () => {
    expect(options('--until', '2090-01-31T12:00:00Z').futureInstant('until')).toBe('2090-01-31T12:00:00Z');
    for (const text of ['2020-01-01T00:00:00Z', '2090-02-30T00:00:00Z', 'tomorrow']) {
      expect(refusal(() => options('--until', text).futureInstant('until'))).toMatch(/^--until must be a time/);
    }
  });
});
