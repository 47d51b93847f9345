import { blocksOf, stretchesOf } from '../text/blocks';
import { wordsOf } from '../text/words';
import { personsOf, renamed } from './speakers';

const labelled = (...names: (string | null)[]) =>
  names.map((name, index) => ({ speaker: 'ABCDEFGHIJ'[index] as string, name, words: index + 1, seconds: 10 }));

describe('the persons of a recording', () => {
  it('are its labels, by their names where they have some', () => {
    expect(personsOf(labelled('Ada', null))).toMatchObject([
      { labels: ['A'], title: 'Ada', colour: 0, words: 1 },
      { labels: ['B'], title: 'Speaker B', name: null, colour: 1 },
    ]);
  });

  it('are one when they have the same name, or one has the label of the other as its name', () => {
    expect(personsOf(labelled('Ada', null, 'Ada'))).toMatchObject([
      { labels: ['A', 'C'], title: 'Ada', colour: 0, words: 4, seconds: 20 },
      { labels: ['B'], colour: 1 },
    ]);
    expect(personsOf(labelled(null, 'A'))).toMatchObject([{ labels: ['A', 'B'], name: 'A', title: 'A' }]);
  });

  it('keep their names when others get one or lose it', () => {
    expect(renamed({ A: 'Ada' }, ['B', 'C'], 'Ben')).toEqual({ A: 'Ada', B: 'Ben', C: 'Ben' });
    expect(renamed({ A: 'Ada', B: 'Ben' }, ['A'], null)).toEqual({ B: 'Ben' });
  });
});

describe('the turns of a transcript', () => {
  /** A word each half second, of the speakers in their order. */
  const said = (speakers: string, text: string) => {
    const words = text.split(' ').map((word, index) => ({
      word,
      start: index / 2,
      end: index / 2 + 0.4,
      confidence: 0.9,
      speaker: speakers[index] as string,
    }));
    return wordsOf(text, words, 60);
  };
  const words = said('AABBCA', 'one two three four five six');
  const turnsOf = (...parameters: Parameters<typeof blocksOf>) =>
    blocksOf(...parameters).map(({ speaker, text, beginsTurn }) => [speaker, text, beginsTurn]);

  it('begin where somebody else speaks', () => {
    expect(turnsOf(words)).toEqual([
      ['A', 'one two', true],
      ['B', 'three four', true],
      ['C', 'five', true],
      ['A', 'six', true],
    ]);
  });

  it('go on where two labels are one person', () => {
    expect(turnsOf(words, (label) => (label === 'C' ? 'B' : label))).toEqual([
      ['A', 'one two', true],
      ['B', 'three four five', true],
      ['A', 'six', true],
    ]);
  });

  it('go on in words that a person has added', () => {
    const corrected = wordsOf(
      'one two new three',
      [
        { word: 'one', start: 0, end: 0.4, confidence: 1, speaker: 'A' },
        { word: 'two', start: 1, end: 1.4, confidence: 1, speaker: 'A' },
        { word: 'three', start: 3, end: 3.4, confidence: 1, speaker: 'B' },
      ],
      60,
    );
    expect(corrected.map(({ speaker }) => speaker)).toEqual(['A', 'A', 'A', 'B']);
  });

  it('are the stretches in which somebody is heard, and nobody else', () => {
    const blocks = blocksOf(words);
    expect(stretchesOf(blocks, ['A'])).toEqual([
      { start: 0, end: 1 },
      { start: 2.5, end: expect.closeTo(3.1) },
    ]);
    expect(stretchesOf(blocks, ['B', 'C'])).toEqual([{ start: 1, end: 2.5 }]);
  });
});
