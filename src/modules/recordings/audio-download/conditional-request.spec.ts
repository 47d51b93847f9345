import { allowsRange, evaluateConditions, parseHttpDate } from './conditional-request.js';

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
