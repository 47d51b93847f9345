import fc from 'fast-check';
import { joinWords, joinTokens, tokensOf } from '../alignment/tokens.js';
import { readCorrectedWords, timeCorrectedText, type TranscriptionWord } from './corrected-words.js';

const SPOKEN: TranscriptionWord[] = [
  { word: 'hello', start: 0.5, end: 0.9, confidence: 0.8 },
  { word: 'wide', start: 1, end: 1.4, confidence: null },
  { word: 'world', start: 1.4, end: 2.123, confidence: 0.6 },
];

describe('timeCorrectedText', () => {
  it('keeps the time and the confidence of words that differ in case and punctuation only', () => {
    expect(timeCorrectedText('Hello, wide world!', SPOKEN, 3)).toEqual([
      { word: 'Hello,', start: 0.5, end: 0.9, confidence: 0.8 },
      { word: 'wide', start: 1, end: 1.4, confidence: null },
      { word: 'world!', start: 1.4, end: 2.123, confidence: 0.6 },
    ]);
  });

  it('is sure of what a person wrote, and takes the mean where a word is made of several', () => {
    const spoken = SPOKEN.map((word) => ({ ...word, confidence: word.confidence ?? 0.4 }));
    expect(timeCorrectedText('helloo wide-world', spoken, 3)).toEqual([
      { word: 'helloo', start: 0.5, end: 0.9, confidence: 1 },
      { word: 'wide-world', start: 1, end: 2.123, confidence: 0.5 },
    ]);
  });

  it('invents no times where the engine gave none', () => {
    expect(timeCorrectedText('hello', [], 3)).toEqual([]);
  });

  it('makes words that a correction may contain, of any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (text) => {
        const words = timeCorrectedText(text, SPOKEN, 3);
        expect(readCorrectedWords(words)).toEqual({ words, problem: null });
        expect(words.map(({ word }) => word).join('')).toBe(joinTokens(tokensOf(text)).replaceAll(' ', ''));
      }),
    );
  });
});

describe('joinWords', () => {
  it.each([
    [['hello', 'world.'], 'hello world.'],
    [['今日', 'は', '「', '良い', '」', '。'], '今日は「良い」。'],
    [[' Hello', ' 世界', '!'], 'Hello 世界!'],
    [[], ''],
  ])('writes %j as %j', (words, text) => {
    expect(joinWords(words)).toBe(text);
  });
});
