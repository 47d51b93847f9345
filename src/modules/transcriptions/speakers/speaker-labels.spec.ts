import { completed, keepLabels, labelAt, labelled, speakersIn, type SpokenWord } from './speaker-labels.js';

/** A word a second, each by the speaker of its letter; `-` is a word without one. */
const spoken = (letters: string, from = 0): SpokenWord[] =>
  [...letters].map((speaker, i) => {
    const times = { start: from + i, end: from + i + 0.5 };
    return speaker === '-' ? times : { ...times, speaker };
  });
const lettersOf = (words: readonly SpokenWord[]): string => words.map(({ speaker }) => speaker ?? '-').join('');

describe('labels of speakers', () => {
  it.each([
    [0, 'A'],
    [25, 'Z'],
    [26, 'AA'],
    [51, 'AZ'],
    [52, 'BA'],
    [701, 'ZZ'],
    [702, 'AAA'],
  ])('have the letters of columns: %i is %s', (index, label) => {
    expect(labelAt(index)).toBe(label);
  });

  it.each([
    ['zzxyx', 'AABCB'],
    ['BA', 'AB'],
    ['', ''],
  ])('are in the order in which speakers appear: %s is %s', (names, labels) => {
    expect(lettersOf(labelled(spoken(names)))).toBe(labels);
  });

  it.each([
    ['A--B', 'ABBB', 'ABBB'],
    ['----', 'AABB', 'AABB'],
    ['AxBy', 'AABB', 'AABB'],
    ['ABAB', 'ABAB', 'ABAB'],
    ['--', '', '--'],
  ])('that %s lacks are those of the nearest of %s: %s', (words, found, complete) => {
    expect(lettersOf(completed(spoken(words), spoken(found)))).toBe(complete);
  });

  it.each([
    ['the same voices in another order', 'AAABBB', 'BBBAAA', 'BBBAAA'],
    ['a voice that is new', 'ABBC', 'ABB-', 'ABBC'],
    ['a voice that is new, at the beginning', 'ABBCC', '-AABB', 'CAABB'],
    ['one voice where there were two', 'AAAAA', 'AABBB', 'BBBBB'],
    ['two voices where there was one', 'AABBB', 'BBBBB', 'AABBB'],
    ['two voices where there was a C', 'AABBB', 'CCCCC', 'AACCC'],
    ['voices where there were none', 'ABA', '---', 'ABA'],
    ['voices where there were no words', 'ABA', '', 'ABA'],
    ['no words', '', 'AB', ''],
  ])('stay those of the run before, with %s', (_, words, before, kept) => {
    expect(lettersOf(keepLabels(spoken(words), spoken(before)))).toBe(kept);
  });

  it('go to new voices that nobody had, also where the one before is not heard any more', () => {
    expect(lettersOf(keepLabels(spoken('AB'), [...spoken('A'), ...spoken('BC', 10)]))).toBe('AD');
    expect(speakersIn(keepLabels(spoken('AB', 50), spoken('AB')))).toEqual(['C', 'D']);
  });

  it('stay where words of the other engine begin and end a little earlier', () => {
    const before = spoken('ABAB').map((word) => ({ ...word, start: word.start - 0.2, end: word.end - 0.3 }));
    expect(
      lettersOf(
        keepLabels(
          spoken('BABA').map((word) => word),
          before,
        ),
      ),
    ).toBe('ABAB');
  });
});
