import fc from 'fast-check';
import { parseQuery } from './search-query.js';
import { beginningOf, MAX_BEGINNING, snippetOf } from './snippet.js';

const before = 'Words that come before it. '.repeat(20);
const after = ' Words that come after it.'.repeat(20);
const snippet = (text: string, q: string): string => snippetOf(text, parseQuery(q));

describe('snippetOf', () => {
  it('is the whole of a short text', () => {
    expect(snippet('Le café.', 'cafe')).toBe('Le café.');
  });

  it.each([
    ['a word', 'LATE', 'The Délivery is late'],
    ['the beginning of a word', 'deliv', 'The Délivery is late'],
    ['an accent', 'delivery', 'The Délivery is late'],
    ['a phrase, not one of its words', '"it late"', 'come. It, late'],
    ['the first of several words', 'late delivery', 'The Délivery is late'],
    ['characters within a run', '東京', '明日東京都に'],
  ])('is the part around %s', (_, q, middle) => {
    const found = snippet(`${before}${middle}${after}`, q);
    expect(found).toContain(middle);
    expect(found).toMatch(/^….*…$/);
    expect(found.length).toBeLessThanOrEqual(202);
  });

  it('begins about 60 characters before the match, with a whole word', () => {
    const text = `${'abcd '.repeat(40)}needle${after}`;
    expect(snippet(text, 'needle')).toMatch(/^…(?:abcd ){11}needle /);
    expect(snippet(text, 'needle')).toHaveLength(199);
  });

  it('breaks a word only when it is longer than 30 characters', () => {
    expect(snippet(`${`${'x'.repeat(23)} `.repeat(40)}needle${after}`, 'needle')).toMatch(/^…x{23} /);
    expect(snippet(`${'x'.repeat(200)} needle${after}`, 'needle')).toMatch(/^…x{59} needle/);
  });

  it('is the beginning when the query only excludes', () => {
    expect(snippet(before, '-else')).toMatch(/^Words that come before it\. .*[^ ]…$/);
  });

  it('has no halves of characters and no more than 202, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 1000 }), fc.nat(1000), (text, at) => {
        const found = snippet(`${text.slice(0, at).toWellFormed()}needle${text.slice(at).toWellFormed()}`, 'needle');
        expect(found.isWellFormed()).toBe(true);
        expect(found.length).toBeLessThanOrEqual(202);
      }),
    );
  });
});

describe('beginningOf', () => {
  it('is the whole of a short text, and ends a long one with a whole word', () => {
    expect(beginningOf('')).toBe('');
    expect(beginningOf('Le café.')).toBe('Le café.');
    expect(beginningOf(before)).toMatch(/^Words that come .* it\. Words.*…$/);
    expect(beginningOf(before).length).toBeLessThanOrEqual(201);
  });

  it.each(['abcd '.repeat(99), 'x'.repeat(300), '𝒳'.repeat(300), '東京'.repeat(150)])(
    'needs no more than the first characters: %s',
    (text) => {
      expect(beginningOf([...text].slice(0, MAX_BEGINNING).join(''))).toBe(beginningOf(text));
    },
  );
});
