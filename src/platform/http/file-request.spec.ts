import fc from 'fast-check';
import { allowsRange, evaluateConditions, MAX_RANGES, parseByteRanges, parseHttpDate } from './file-request.js';

const FILE = { entityTag: '"a"', lastModified: new Date('1994-11-06T08:49:37.250Z') };
const SAME = 'Sun, 06 Nov 1994 08:49:37 GMT';
const BEFORE = 'Sun, 06 Nov 1994 08:49:36 GMT';
const AFTER = 'Sun, 06 Nov 1994 08:49:38 GMT';

describe('conditions of a request for a file (RFC 9110 §13)', () => {
  it.each<[string, Record<string, string>, string]>([
    ['none', {}, 'proceed'],
    ['If-None-Match of this version', { 'if-none-match': '"a"' }, 'not modified'],
    ['If-None-Match compares weakly', { 'if-none-match': 'W/"a"' }, 'not modified'],
    ['If-None-Match with a list', { 'if-none-match': '"b", "a"' }, 'not modified'],
    ['If-None-Match *', { 'if-none-match': '*' }, 'not modified'],
    ['If-None-Match of another version', { 'if-none-match': '"b"' }, 'proceed'],
    ['If-None-Match without quotation marks', { 'if-none-match': 'a' }, 'proceed'],
    [
      'If-None-Match decides before If-Modified-Since',
      { 'if-none-match': '"b"', 'if-modified-since': AFTER },
      'proceed',
    ],
    ['If-Modified-Since, the same second', { 'if-modified-since': SAME }, 'not modified'],
    ['If-Modified-Since before', { 'if-modified-since': BEFORE }, 'proceed'],
    ['If-Modified-Since that is no date', { 'if-modified-since': 'yesterday' }, 'proceed'],
    ['If-Match of this version', { 'if-match': '"a"' }, 'proceed'],
    ['If-Match *', { 'if-match': '*' }, 'proceed'],
    ['If-Match of another version', { 'if-match': '"b"' }, 'failed'],
    ['If-Match compares strongly', { 'if-match': 'W/"a"' }, 'failed'],
    ['If-Match decides before If-Unmodified-Since', { 'if-match': '"a"', 'if-unmodified-since': BEFORE }, 'proceed'],
    ['If-Match decides before If-None-Match', { 'if-match': '"b"', 'if-none-match': '"a"' }, 'failed'],
    ['If-Unmodified-Since, the same second', { 'if-unmodified-since': SAME }, 'proceed'],
    ['If-Unmodified-Since before', { 'if-unmodified-since': BEFORE }, 'failed'],
  ])('%s', (_, headers, expected) => {
    expect(evaluateConditions(headers, FILE)).toBe(expected);
  });

  it.each<[string, string | undefined, boolean]>([
    ['no If-Range', undefined, true],
    ['the tag of this version', '"a"', true],
    ['a weak tag', 'W/"a"', false],
    ['the tag of another version', '"b"', false],
    ['a list of tags', '"a", "b"', false],
    ['the very date', SAME, true],
    ['an earlier date', BEFORE, false],
    ['a later date', AFTER, false],
    ['no date', 'now', false],
  ])('a range with %s', (_, header, allowed) => {
    expect(allowsRange(header, FILE)).toBe(allowed);
  });

  it.each([SAME, 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'])('reads the date %s', (date) => {
    expect(parseHttpDate(date)).toBe(784_111_777);
  });

  it.each(['', '1994-11-06', '784111777', 'Sun, 06 Nov 1994 08:49:37', 'Sun, 06 Nov 1994 28:49:37 GMT'])(
    'reads no date in %j',
    (date) => {
      expect(parseHttpDate(date)).toBeNull();
    },
  );
});

const SIZE = 10_000;
const range = (start: number, end: number) => ({ start, end });

describe('a Range header (RFC 9110 §14.1.2)', () => {
  it.each([
    ['bytes=0-499', [range(0, 499)]],
    ['bytes=500-999', [range(500, 999)]],
    ['bytes=-500', [range(9500, 9999)]],
    ['bytes=9500-', [range(9500, 9999)]],
    ['bytes=0-0,-1', [range(0, 0), range(9999, 9999)]],
    ['bytes=0-999, 4500-5499, -1000', [range(0, 999), range(4500, 5499), range(9000, 9999)]],
    ['bytes=-1000, 0-999', [range(9000, 9999), range(0, 999)]],
    ['BYTES=1-2', [range(1, 2)]],
    [' bytes=1-2\t,\t5-6 ', [range(1, 2), range(5, 6)]],
    ['bytes=,, 1-2 ,,', [range(1, 2)]],
    ['bytes=0-', [range(0, 9999)]],
    ['bytes=9999-', [range(9999, 9999)]],
    ['bytes=00001-0002', [range(1, 2)]],
  ])('%s', (header, expected) => {
    expect(parseByteRanges(header, SIZE)).toEqual(expected);
  });

  it.each([
    ['a last position past the end', 'bytes=9990-20000', [range(9990, 9999)]],
    ['a suffix longer than the file', 'bytes=-20000', [range(0, 9999)]],
    ['a suffix of any number of digits', `bytes=-${'9'.repeat(400)}`, [range(0, 9999)]],
    ['a last position of any number of digits', `bytes=1-${'9'.repeat(400)}`, [range(1, 9999)]],
    ['one range beyond the file beside one within', 'bytes=10000-,5-6', [range(5, 6)]],
  ])('is cut to the file: %s', (_, header, expected) => {
    expect(parseByteRanges(header, SIZE)).toEqual(expected);
  });

  it.each([
    ['bytes=10000-'],
    ['bytes=10000-20000'],
    ['bytes=-0'],
    ['bytes=-0, 10000-'],
    [`bytes=${'9'.repeat(400)}-`],
    ['bytes=9007199254740993-9007199254740993'],
  ])('cannot be satisfied: %s', (header) => {
    expect(parseByteRanges(header, SIZE)).toEqual([]);
  });

  it.each([
    [''],
    ['bytes'],
    ['bytes='],
    ['bytes=,'],
    ['bytes= , '],
    ['bytes=-'],
    ['bytes=a-b'],
    ['bytes=1x-2'],
    ['bytes=2-1'],
    ['bytes=0-1,2-1'],
    ['bytes=9007199254740993-9007199254740992'],
    ['bytes=1 - 2'],
    ['bytes=+1-2'],
    ['bytes=1.5-2'],
    ['bytes=0x1-2'],
    ['bytes=--1'],
    ['bytes=1-2-3'],
    ['bytes=1-2;3-4'],
    ['bytes =1-2'],
    ['bytes: 1-2'],
    ['bytes=1-2, bytes=3-4'],
    ['seconds=1-2'],
    ['bytes=٣-٤'],
  ])('is ignored when it is malformed or of another unit: %j', (header) => {
    expect(parseByteRanges(header, SIZE)).toBeNull();
  });

  it('merges ranges that overlap or touch, in the place of the first', () => {
    expect(parseByteRanges('bytes=0-9,100-199,10-19,15-30', SIZE)).toEqual([range(0, 30), range(100, 199)]);
    expect(parseByteRanges('bytes=100-199,0-9,5-150', SIZE)).toEqual([range(0, 199)]);
    expect(parseByteRanges('bytes=10-19,0-9', SIZE)).toEqual([range(0, 19)]);
    expect(parseByteRanges(`bytes=${Array(MAX_RANGES).fill('0-').join()}`, SIZE)).toEqual([range(0, 9999)]);
  });

  it('is ignored with more ranges than are served', () => {
    expect(MAX_RANGES).toBe(16);
    const specs = Array.from({ length: MAX_RANGES + 1 }, (_, i) => `${i * 10}-${i * 10}`);
    expect(parseByteRanges(`bytes=${specs.slice(1).join()}`, SIZE)).toHaveLength(MAX_RANGES);
    expect(parseByteRanges(`bytes=${specs.join()}`, SIZE)).toBeNull();
  });

  const position = fc.nat(40);
  const spec = fc.oneof(
    fc.tuple(position, position).map(([first, length]) => `${first}-${first + length}`),
    position.map((first) => `${first}-`),
    position.map((length) => `-${length}`),
  );

  it('stands for exactly the bytes that it names, each once', () => {
    const named = (text: string, size: number): number[] => {
      const [first, last] = text.split('-') as [string, string];
      const bytes = Array.from({ length: size }, (_, i) => i);
      if (first === '') return last === '0' ? [] : bytes.slice(-Number(last));
      return bytes.filter((i) => i >= Number(first) && (last === '' || i <= Number(last)));
    };
    fc.assert(
      fc.property(fc.array(spec, { minLength: 1, maxLength: MAX_RANGES }), fc.nat(30), (specs, size) => {
        const ranges = parseByteRanges(`bytes=${specs.join(', ')}`, size) ?? [];
        const served = ranges.flatMap(({ start, end }) => Array.from({ length: end - start + 1 }, (_, i) => start + i));
        const expected = new Set(specs.flatMap((text) => named(text, size)));
        expect(served.toSorted((a, b) => a - b)).toEqual([...expected].toSorted((a, b) => a - b));
      }),
    );
  });

  it('never fails, and never names a byte outside the file', () => {
    const text = fc.string({ unit: fc.constantFrom(...'0123456789-,= \tbytes'.split('')), maxLength: 60 });
    fc.assert(
      fc.property(
        fc.oneof(
          text,
          text.map((set) => `bytes=${set}`),
          fc.string(),
        ),
        fc.nat(30),
        (header, size) => {
          for (const { start, end } of parseByteRanges(header, size) ?? []) {
            expect(start).toBeGreaterThanOrEqual(0);
            expect(end).toBeGreaterThanOrEqual(start);
            expect(end).toBeLessThan(size);
          }
        },
      ),
    );
  });
});
