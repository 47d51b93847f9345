import fc from 'fast-check';
import { joinWords, joinTokens, tokensOf } from './text/tokens.js';
import {
  MAX_SECONDS,
  MAX_TEXT_CHARACTERS,
  MAX_WORDS,
  readCorrectedWords,
  timeCorrectedText,
  type TranscriptionWord,
} from './corrected-words.js';

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

  it('keeps the speakers, and gives other words that of their neighbours', () => {
    const spoken = SPOKEN.map((word, index) => ({ ...word, speaker: index === 0 ? 'B' : 'A' }));
    const speakers = (text: string) => timeCorrectedText(text, spoken, 3).map(({ word, speaker }) => [word, speaker]);
    expect(speakers('Well, hello there, wide world')).toEqual([
      ['Well,', 'B'],
      ['hello', 'B'],
      ['there,', 'B'],
      ['wide', 'A'],
      ['world', 'A'],
    ]);
    expect(readCorrectedWords(JSON.stringify(spoken)).words).toEqual(spoken);
  });

  it.each(['a ', '日', 'a 日 '])('lets neighbours share an item when there are too many words: of %j', (unit) => {
    const text = unit.repeat(Math.floor(MAX_TEXT_CHARACTERS / unit.length)).trim();
    const words = timeCorrectedText(text, SPOKEN, 7200);
    expect(words.length).toBeGreaterThan(MAX_WORDS / 2);
    expect(readCorrectedWords(words)).toEqual({ words, problem: null });
    expect(joinWords(words.map(({ word }) => word))).toBe(text);
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

describe('readCorrectedWords', () => {
  const WORD = { word: 'hello', start: 1, end: 2 };
  const problemOf = (value: unknown): string | null => readCorrectedWords(value).problem;

  it('reads a list and its JSON text, is sure of words without a confidence, and keeps a channel', () => {
    const list = [WORD, { ...WORD, confidence: null }, { ...WORD, confidence: 0.5, channel: 1 }];
    const words = [
      { ...WORD, confidence: 1 },
      { ...WORD, confidence: null },
      { ...WORD, confidence: 0.5, channel: 1 },
    ];
    expect(readCorrectedWords(list)).toEqual({ words, problem: null });
    expect(readCorrectedWords(JSON.stringify(list))).toEqual({ words, problem: null });
    expect(readCorrectedWords([])).toEqual({ words: [], problem: null });
  });

  it.each([[null], ['{}'], ['['], [5], [{ 0: WORD }]])('refuses %j, which is no list', (value) => {
    expect(problemOf(value)).toBe('must be a list of words, or its JSON text');
  });

  it.each<[object | null, string | null]>([
    [null, ' must be an object'],
    [[], ' must be an object'],
    [{ ...WORD, voice: 'A' }, ' must have no fields but word, start, end, confidence, channel, speaker'],
    [{ start: 1, end: 2 }, '.word must be text of 1 to 200 characters'],
    [{ ...WORD, word: ' ' }, '.word must be text of 1 to 200 characters'],
    [{ ...WORD, word: '👍'.repeat(200) }, null],
    [{ ...WORD, word: 'a'.repeat(201) }, '.word must be text of 1 to 200 characters'],
    [{ ...WORD, word: 'a\0' }, '.word must not contain control characters or lone surrogates'],
    [{ ...WORD, start: -0.1 }, '.start must be a number from 0 to 86400'],
    [{ ...WORD, start: '1' }, '.start must be a number from 0 to 86400'],
    [{ ...WORD, start: 0, end: 0 }, null],
    [{ ...WORD, end: MAX_SECONDS }, null],
    [{ ...WORD, end: 86_400.1 }, '.end must be a number from 0 to 86400'],
    [{ ...WORD, end: 0.9 }, '.end must not be before its start'],
    [{ ...WORD, channel: 0 }, null],
    [{ ...WORD, channel: 2 }, '.channel must be an integer from 0 to 1'],
    [{ ...WORD, channel: 0.5 }, '.channel must be an integer from 0 to 1'],
    [{ ...WORD, channel: null }, '.channel must be an integer from 0 to 1'],
    [{ ...WORD, speaker: 'A' }, null],
    [{ ...WORD, speaker: 'AB' }, null],
    [{ ...WORD, speaker: 'a' }, '.speaker must be a label from A to ZZ'],
    [{ ...WORD, speaker: 'Ada' }, '.speaker must be a label from A to ZZ'],
    [{ ...WORD, speaker: null }, '.speaker must be a label from A to ZZ'],
    [{ ...WORD, confidence: 0 }, null],
    [{ ...WORD, confidence: 1.1 }, '.confidence must be a number from 0 to 1, or null'],
  ])('says of the word %j: %s', (word, problem) => {
    expect(problemOf([word])).toBe(problem && `has a wrong item: words[0]${problem}`);
  });

  it('wants the words in the order of their starts, and names the one that is not', () => {
    expect(problemOf([WORD, { ...WORD }, { ...WORD, start: 0.9 }])).toBe(
      'has a wrong item: words[2].start must not be before that of the word before it',
    );
  });

  it('takes at most 50,000 words and, with a space between them, 200,000 characters', () => {
    expect([MAX_WORDS, MAX_TEXT_CHARACTERS]).toEqual([50_000, 200_000]);
    const words = (count: number, word: string) => Array.from({ length: count }, () => ({ ...WORD, word }));
    expect(problemOf(words(50_000, 'a'))).toBeNull();
    expect(problemOf(words(50_001, 'a'))).toBe('must have at most 50,000 words; this has 50001');
    const long = words(1000, 'a'.repeat(199));
    expect(problemOf(long)).toBeNull();
    expect(problemOf([...long.slice(1), { ...WORD, word: 'a'.repeat(200) }])).toBeNull();
    expect(problemOf([...long.slice(2), ...words(2, 'a'.repeat(200))])).toBe(
      'must have at most 200,000 characters in all',
    );
  });
});
