import { caretIn, differenceOf } from './changes';
import { CaretTimes } from './caret-times';

describe('differenceOf', () => {
  const marked = (one: string, other: string): string[] =>
    differenceOf(one, other).map((parts) =>
      parts.map(({ text, isChanged }) => (isChanged ? `[${text}]` : text)).join(''),
    );

  it.each([
    ['two boxes are damaged', 'three boxes are lost', '[two] boxes are [damaged]', '[three] boxes are [lost]'],
    ['go forward', 'go slowly forward', 'go forward', 'go [slowly ]forward'],
    ['the same', 'the same', 'the same', 'the same'],
    ['今日は良い天気です', '今日は悪い天気です', '今日は[良]い天気です', '今日は[悪]い天気です'],
    ['', 'all new', '', '[all new]'],
  ])('of %j and %j marks each word that differs', (one, other, mine, theirs) => {
    expect(marked(one, other)).toEqual([mine, theirs]);
  });

  it('gives up on long texts that have nothing in common', () => {
    const text = (word: string): string => Array.from({ length: 30_000 }, (_, i) => `${word}${i}`).join(' ');
    const [mine, theirs] = differenceOf(text('a'), text('b'));
    expect([mine.length, theirs.length]).toEqual([1, 1]);
  });
});

describe('the caret of a changed text', () => {
  const BEFORE = 'two boxes are damaged at the north gate';
  const AFTER = 'three heavy boxes are lost at the gate';

  it.each([
    ['before a change', 0, 0],
    ['in a word that was added', AFTER.indexOf('heavy') + 2, BEFORE.indexOf(' boxes')],
    ['between changes', AFTER.indexOf('boxes') + 1, BEFORE.indexOf('boxes') + 1],
    ['after what was removed', AFTER.indexOf('gate'), BEFORE.indexOf('gate')],
    ['at the end', AFTER.length, BEFORE.length],
  ])('%s stands in the text as it was', (_, caret, expected) => {
    expect(Math.abs(caretIn(BEFORE, AFTER, caret) - expected)).toBeLessThanOrEqual(1);
  });

  it('is at the time of its word', () => {
    const heard = BEFORE.split(' ').map((word, n) => ({ word, start: n, end: n + 0.5, confidence: 1 }));
    const times = new CaretTimes(BEFORE, heard, 10);
    expect(times.timeAt(AFTER.indexOf('gate') + 2, AFTER)).toBe(7);
    expect(times.timeAt(0, '')).toBe(0);
    expect(times.caretAt(1, AFTER)).toBe(AFTER.indexOf('boxes'));
    expect(times.caretAt(3.2, BEFORE)).toBe(BEFORE.indexOf('damaged'));
  });
});
