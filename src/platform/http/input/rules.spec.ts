import { plainToInstance } from 'class-transformer';
import { validate } from 'class-validator';
import fc from 'fast-check';
import { AsInteger, isCleanText, IsDay, isFutureInstant, isInstant, IsText } from './rules.js';

class Example {
  @IsText(1, 5)
  name: string;

  @IsText(0, 5)
  note: string = '';

  @IsDay()
  day: string = '2026-11-21';

  @AsInteger()
  page: unknown = 0;
}

async function brokenBy(input: object): Promise<string[]> {
  const example = plainToInstance(Example, { name: 'x', ...input }, { exposeDefaultValues: true });
  return (await validate(example)).map(({ property }) => property);
}

const integerOf = (page: unknown): unknown => plainToInstance(Example, { page }).page;

describe('isCleanText: control characters and lone surrogates are refused', () => {
  it.each(['', 'Ünïcödé', '日本語', '👩‍👩‍👧', '\u{10ffff}', ' \u00a0\u2028'])('takes %j', (text) => {
    expect(isCleanText(text)).toBe(true);
  });

  it.each(['\0', 'a\nb', '\t', '\x1f', '\x7f', '\x80', '\x9f', '\ud800', 'a\udfff', '\udc00\ud800'])(
    'refuses %j',
    (text) => {
      expect(isCleanText(text)).toBe(false);
    },
  );
});

describe('IsText counts code points', () => {
  it.each(['x', 'abcde', '😀😀😀😀😀', ' x '])('takes %j as 1 to 5 characters', async (name) => {
    expect(await brokenBy({ name })).toEqual([]);
  });

  it.each(['', ' ', '\u3000', 'abcdef', '😀😀😀😀😀😀', 'a\0', 1, null, ['x'], {}, true])(
    'refuses %j as 1 to 5 characters',
    async (name) => {
      expect(await brokenBy({ name })).toEqual(['name']);
    },
  );

  it('takes an empty or blank text where none is needed', async () => {
    expect(await brokenBy({ note: '' })).toEqual([]);
    expect(await brokenBy({ note: ' ' })).toEqual([]);
    expect(await brokenBy({ note: 'abcdef' })).toEqual(['note']);
  });
});

describe('IsDay (D18)', () => {
  it.each(['2026-11-21', '2024-02-29', '2000-02-29', '0001-01-01', '9999-12-31'])('takes %s', async (day) => {
    expect(await brokenBy({ day })).toEqual([]);
  });

  it.each([
    ...['2026-02-30', '2025-02-29', '1900-02-29', '2026-00-10', '2026-13-01', '2026-01-00', '2026-01-32', '0000-01-01'],
    ...['2026-1-1', '20261121', '2026-11-21T00:00:00Z', ' 2026-11-21', '2026-11-21\n', '+002026-11-21', 'now', ''],
    ...['２０２６-11-21', '2026/11/21', 20261121, null, ['2026-11-21']],
  ])('refuses %j', async (day) => {
    expect(await brokenBy({ day })).toEqual(['day']);
  });
});

describe('AsInteger (D16)', () => {
  it('reads every plain decimal integer', () => {
    fc.assert(fc.property(fc.nat(1e9), (n) => expect(integerOf(`${n}`)).toBe(n)));
  });

  it.each(['-1', '+1', '1.5', '1e3', '1e309', '0x10', ' 1', '1 ', '', 'abc', 'NaN', 'Infinity', '1_000', '١', ['1']])(
    'leaves %j as it is, for the integer rule to refuse',
    (page) => {
      expect(integerOf(page)).toEqual(page);
    },
  );

  it('leaves a number alone that would lose digits', () => {
    expect(integerOf('9'.repeat(16))).toBe('9'.repeat(16));
  });
});

describe('isInstant (D101)', () => {
  it.each(['0001-01-01T00:00:00Z', '2020-01-31T12:00Z', '2026-11-01T00:00:00+01:00', '9999-12-31T23:59:59.999Z'])(
    'takes %s',
    (instant) => expect(isInstant(instant)).toBe(true),
  );

  it.each([
    '2026-11-01',
    '2026-11-01T00:00:00',
    '2026-02-30T00:00:00Z',
    '2026-11-01T00:00:00 01:00',
    '9999-12-31T23:59:59-23:59',
    '0001-01-01T00:00:00+01:00',
    '',
  ])('refuses %j', (instant) => expect(isInstant(instant)).toBe(false));
});

describe('isFutureInstant (D11)', () => {
  it.each([
    '2999-01-31T12:00:00Z',
    '2999-01-31T12:00Z',
    '2999-01-31T12:00:00.123456789Z',
    '2999-01-31T12:00:00+05:30',
    '2999-01-31T12:00:00-23:59',
  ])('takes %s', (instant) => {
    expect(isFutureInstant(instant)).toBe(true);
  });

  it.each([
    ...['2020-01-31T12:00:00Z', '2999-02-30T12:00:00Z', '2999-01-31', '2999-01-31T12:00:00', '2999-01-31T25:00:00Z'],
    ...['2999-01-31T12:60:00Z', '2999-01-31T12:00:61Z', '2999-01-31T12:00:00+25:00', '2999-01-31 12:00:00Z'],
    ...['2999-01-31T12:00:00z', '2999-01-31T12:00:00Z\n', 'tomorrow', 'infinity', 'now', '', '32503680000'],
  ])('refuses %j', (instant) => {
    expect(isFutureInstant(instant)).toBe(false);
  });

  it('compares instants, not local times', () => {
    const inAMinute = new Date(Date.now() + 60_000).toISOString().slice(0, 19);
    expect(isFutureInstant(`${inAMinute}Z`)).toBe(true);
    expect(isFutureInstant(`${inAMinute}+01:00`)).toBe(false);
    expect(isFutureInstant(`${inAMinute}-01:00`)).toBe(true);
  });
});
