import { blocksOf } from './blocks';
import { Finder } from './find';
import { isUnsure } from './unsure';
import { heardWords, trustCorrections, wordsOf } from './words';

/** A word each half second. */
const heard = (...words: string[]) =>
  words.map((word, index) => ({ word, start: index / 2, end: index / 2 + 0.4, confidence: 0.9 }));

const shown = (text: string, ...words: string[]) =>
  wordsOf(text, heard(...words), 60).map(({ text: word, start }) => [word, start]);

describe('the words of a text', () => {
  it('have the times of the reported words, whatever their case and punctuation', () => {
    expect(shown('Good day, Sir!', 'good', 'day', 'sir')).toEqual([
      ['Good', 0],
      ['day,', 0.5],
      ['Sir!', 1],
    ]);
  });

  it('may be cut in another way than the engine cuts them', () => {
    expect(shown("Don't go twenty-five", 'don', "'t", 'go', 'twenty', 'five')).toEqual([
      ["Don't", 0],
      ['go', 1],
      ['twenty-five', 1.5],
    ]);
  });

  it('that were not reported have a time between those of their neighbours', () => {
    const [, added] = wordsOf('one new two', heard('one', 'two'), 60);
    expect(added).toMatchObject({ text: 'new', confidence: null });
    expect(added?.start).toBeCloseTo(0.4);
    expect(added?.end).toBeCloseTo(0.5);
  });

  it('are found again after words that the text has not', () => {
    expect(shown('one three', 'one', 'two', 'three')).toEqual([
      ['one', 0],
      ['three', 1],
    ]);
  });

  it('are sure where a person has written them in another way than the engine', () => {
    const unsure = (...words: string[]) =>
      heard(...words).map((word, n) => ({ ...word, start: n / 3, confidence: 0.3 }));
    const engine = wordsOf('at the north gate', unsure('at', 'the', 'north', 'gate'), 60);
    const kept = unsure('At', 'the', 'North', 'gate.').map((word) => ({
      ...word,
      start: Number(word.start.toFixed(3)),
    }));
    const corrected = trustCorrections(wordsOf('At the North gate.', kept, 60), engine);
    expect(corrected.filter(isUnsure).map(({ text }) => text)).toEqual(['the']);
  });

  it('are cut in scripts without spaces', () => {
    const words = wordsOf('東京は晴れ。', heard('東京', 'は', '晴れ'), 60);
    expect(words.map(({ text }) => text).join('')).toBe('東京は晴れ。');
    expect(words.length).toBeGreaterThan(1);
    expect(words[1]).toMatchObject({ glued: true });
  });

  it('are distributed over the recording when the engine reports none', () => {
    expect(shown('a b c')).toEqual([
      ['a', 0],
      ['b', 20],
      ['c', 40],
    ]);
  });

  it('are none when the list is no list', () => {
    expect(heardWords('')).toEqual([]);
    expect(heardWords('{}')).toEqual([]);
  });
});

describe('the paragraphs of a text', () => {
  const texts = (words: Parameters<typeof blocksOf>[0]) => blocksOf(words).map(({ text }) => text);

  it('end at line feeds and long pauses', () => {
    const words = [
      ...heard('one', 'two'),
      { word: 'three', start: 9, end: 9.4, confidence: 1 },
      { word: 'four', start: 9.5, end: 10, confidence: 1 },
    ];
    expect(texts(wordsOf('one two three\nfour', words, 60))).toEqual(['one two', 'three', 'four']);
  });

  it('keep together what one side says while the other one speaks', () => {
    const at = (word: string, start: number, channel: number) => ({
      word,
      start,
      end: start + 0.4,
      confidence: 1,
      channel,
    });
    const words = [at('how', 0, 0), at('are', 0.5, 0), at('well', 0.7, 1), at('you', 1, 0), at('thanks', 1.2, 1)];
    const blocks = blocksOf(wordsOf('how are well you thanks', words, 10));
    expect(blocks.map(({ channel, text, beginsTurn }) => [channel, text, beginsTurn])).toEqual([
      [0, 'how are you', true],
      [1, 'well thanks', true],
    ]);
  });

  it('are found by words, whatever their case and accents', () => {
    const finder = new Finder(blocksOf(wordsOf('Das Café am Nordtor\nist im café', [], 60)));
    expect(finder.find('CAFE')).toEqual([
      { block: 0, from: 1, to: 1, isWhole: true },
      { block: 1, from: 6, to: 6, isWhole: true },
    ]);
    expect(finder.find('am nord')).toEqual([{ block: 0, from: 2, to: 3, isWhole: false }]);
    expect(finder.find('  ')).toEqual([]);
  });
});
