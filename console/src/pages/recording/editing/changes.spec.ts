import { differenceOf } from './changes';

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
