import { hotWordsText } from './sherpa-settings.js';

const LOWER = ['▁a', 'b', 'c', 'd', 'e', 'é', 'f', 'o', 'r'];
const MIXED = [...LOWER, 'A', 'B', 'F'];
const CAPITALS = LOWER.map((symbol) => symbol.toUpperCase());

describe('hotWordsText', () => {
  it('joins terms', () => {
    expect(hotWordsText(['abc', 'foo  bar'], LOWER, false)).toBe('abc/foo bar');
  });

  it('writes them as the model does', () => {
    expect(hotWordsText(['Foo'], LOWER, false)).toBe('foo');
    expect(hotWordsText(['Foo'], MIXED, false)).toBe('Foo');
    expect(hotWordsText(['Foo'], CAPITALS, true)).toBe('FOO');
  });

  it.each([
    ['a separator', 'a/b', 'a b'],
    ['a score', 'a :9 b', 'a b'],
    ['marks', '#a @b :', 'a b'],
    ['nothing else', ' :/# ', ''],
    ['a character without a token', 'aж', ''],
  ])('takes out %s', (_, term, text) => {
    // A digit has no token either.
    expect(hotWordsText([term], [...LOWER, '9'], false).replace('9 ', '')).toBe(text);
  });

  it('takes a mark out only where a word begins', () => {
    const symbols = [...LOWER, ':', '#', '@'];
    expect(hotWordsText(['a:b c#', '::#@a  /b/ /c'], symbols, false)).toBe('a:b c#/a b c');
  });

  it('leaves out a term of which nothing is left, and no separator for it', () => {
    expect(hotWordsText(['abc', ':/', 'foo'], LOWER, false)).toBe('abc/foo');
    expect(hotWordsText([':/'], LOWER, false)).toBe('');
  });

  it('leaves out only the terms that the model cannot spell', () => {
    expect(hotWordsText(['abc', 'жук', 'foo'], LOWER, false)).toBe('abc/foo');
  });
});
