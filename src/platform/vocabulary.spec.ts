import { checkVocabulary, parseVocabulary } from './vocabulary.js';

describe('parseVocabulary', () => {
  it.each([
    ['', []],
    ['Grafana, Zoë ,,', ['Grafana', 'Zoë']],
    ['["Grafana"," New York "]', ['Grafana', 'New York']],
    [' [ ] ', []],
    ['C++,c++,Grafana', ['C++', 'Grafana']],
    ['Zoe\u0308', ['Zoë']],
  ])('reads %j', (text, terms) => {
    expect(parseVocabulary(text)).toEqual({ ok: true, terms });
  });

  it.each([
    ['[', /^must be a JSON list of texts, such as .*, or terms separated by commas$/],
    ['[1]', /^must be a JSON list of texts/],
    ['["a",null]', /^must be a JSON list of texts/],
    ['["a",""]', /^term 2 must contain a letter or a digit$/],
    ['a,--', /^term 2 must contain a letter or a digit$/],
    ['a,b\u0000', /^term 2 must not contain control characters or lone surrogates$/],
    ['["\\ud800a"]', /^term 1 must not contain control characters or lone surrogates$/],
    [`a,${'😀'.repeat(64)}b`, /^term 2 must be at most 64 characters; this has 65$/],
    [Array(101).fill('a').join(), /^must have at most 100 terms; this has 101$/],
  ])('refuses %j', (text, reason) => {
    expect(parseVocabulary(text)).toEqual({ ok: false, reason: expect.stringMatching(reason) });
  });

  it('takes 100 terms of 64 characters, counted in code points', () => {
    const terms = Array.from({ length: 100 }, (_, i) => `${String(i).padStart(3, '0')}${'😀'.repeat(61)}`);
    expect(checkVocabulary(terms)).toEqual({ ok: true, terms });
  });
});

describe('checkVocabulary', () => {
  it.each([['a,b'], [{}], [null], [[['a']]]])('refuses %j, which is no list of texts', (value) => {
    expect(checkVocabulary(value)).toEqual({
      ok: false,
      reason: 'must be a list of texts, such as ["Grafana","Zoë"]',
    });
  });
});
