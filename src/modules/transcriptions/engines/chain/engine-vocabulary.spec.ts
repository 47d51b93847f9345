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

describe('sourcesOf', () => {
  it('is null where nobody named a term', () => {
    expect(sourcesOf(null, [])).toBeNull();
    expect(sourcesOf(['a'], [])).toEqual({ upload: ['a'], account: [] });
    expect(sourcesOf(null, ['a'])).toEqual({ upload: [], account: ['a'] });
  });
});
