import { sourcesOf, vocabularyFor } from './engine-vocabulary.js';

const ENGINE = { maxVocabularyTerms: 15 };
const numbered = (count: number, prefix = 'Term') => Array.from({ length: count }, (_, i) => `${prefix} ${i}`);

describe('vocabularyFor', () => {
  it('gives those of the upload before those of the account, each once, and no more than the engine takes', () => {
    const upload = ['Grafana', 'Zoë'];
    const account = ['zoë', ...numbered(100)];
    expect(vocabularyFor(ENGINE, { upload, account })).toEqual(['Grafana', 'Zoë', ...numbered(13)]);
    expect(vocabularyFor(ENGINE, { upload: numbered(100), account })).toEqual(numbered(15));
    expect(vocabularyFor({ maxVocabularyTerms: 3 }, { upload, account })).toEqual(['Grafana', 'Zoë', 'Term 0']);
  });

  it('gives none to an engine that takes none, or where there are none', () => {
    expect(vocabularyFor({}, { upload: ['Grafana'], account: [] })).toEqual([]);
    expect(vocabularyFor({ maxVocabularyTerms: 0 }, { upload: ['Grafana'], account: [] })).toEqual([]);
    expect(vocabularyFor(ENGINE, undefined)).toEqual([]);
  });

  it('leaves out what would not fit into the prompt of Whisper, 224 tokens of at least one byte', () => {
    const long = numbered(100, 'ж'.repeat(50));
    const given = vocabularyFor(ENGINE, { upload: [...long, 'Grafana'], account: [] });
    expect(given).toEqual([long[0], 'Grafana']);
    expect(Buffer.byteLength(given.join(', '))).toBeLessThan(224);
  });
});

/** How many equal terms fit into 200 tokens. */
function fitting(term: (index: number) => string): number {
  const upload = Array.from({ length: 120 }, (_, index) => term(index));
  return vocabularyFor({ maxVocabularyTerms: 120 }, { upload, account: [] }).length;
}

describe('the cost of a term', () => {
  const letter = (index: number): string =>
    String.fromCharCode(97 + (index % 26)) + String.fromCharCode(97 + index / 26);

  it.each([
    ['two ASCII letters: 1, and 1 for the separator', (i: number) => letter(i), 100],
    ['three ASCII letters: 2 and 1', (i: number) => `x${letter(i)}`, 66],
    ['four ASCII letters: 2 and 1', (i: number) => `xx${letter(i)}`, 66],
    ['five ASCII letters: 3 and 1', (i: number) => `xxx${letter(i)}`, 50],
    ['two ASCII letters and one of two bytes: 1, 2 and 1', (i: number) => `${letter(i)}é`, 50],
    ['two ASCII letters and one of three bytes: 1, 3 and 1', (i: number) => `${letter(i)}今`, 40],
    ['two ASCII letters and two of two bytes: 1, 4 and 1', (i: number) => `${letter(i)}éж`, 33],
  ])('of %s', (_, term, count) => {
    expect(fitting(term)).toBe(count);
  });
});

describe('sourcesOf', () => {
  it('is null where nobody named a term', () => {
    expect(sourcesOf(null, [])).toBeNull();
    expect(sourcesOf(['a'], [])).toEqual({ upload: ['a'], account: [] });
    expect(sourcesOf(null, ['a'])).toEqual({ upload: [], account: ['a'] });
  });
});
