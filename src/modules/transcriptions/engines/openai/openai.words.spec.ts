import { droppedWords } from '../../speech/invented-words.js';
import { readTranscript } from './openai.response.js';

const REQUESTED = { language: 'english', seconds: 10 };
const segment = (text: string, changes: object = {}) => ({ start: 0, end: 5, text, avg_logprob: -0.1, ...changes });
const read = (response: object) => readTranscript(response, REQUESTED);

describe('the transcript of a response', () => {
  it('says what is wrong with a response without a text', () => {
    expect(() => read({ words: [] })).toThrow('The response has no text');
  });

  it('counts the words that it drops for this engine', async () => {
    droppedWords.reset();
    read({ text: 'x', segments: [segment('x', { no_speech_prob: 0.9, avg_logprob: -1 })] });
    expect((await droppedWords.get()).values).toMatchObject([{ labels: { engine: 'openai', reason: 'no_speech' } }]);
  });

  it('joins the segments that are left with blanks', () => {
    const segments = [segment('One.'), segment('x', { no_speech_prob: 0.9, avg_logprob: -1 }), segment('Two.')];
    expect(read({ text: 'One. x Two.', segments }).text).toBe('One. Two.');
  });

  it('leaves malformed segments out', () => {
    const segments = [null, 7, [], { start: 0 }, { text: 5 }, segment('Hello')];
    expect(read({ text: 'Hello', segments }).confidence).toBeCloseTo(Math.exp(-0.1));
  });

  it('has no confidence where the text of every segment is empty', () => {
    expect(read({ text: 'Hello', segments: [segment('  ')] }).confidence).toBeNull();
    expect(read({ text: 'Hello', segments: [segment('H')] }).confidence).toBeCloseTo(Math.exp(-0.1));
  });

  it('places a segment without times at the start', () => {
    const silent = { text: 'x', avg_logprob: -1, no_speech_prob: 0.9 };
    const words = [
      { word: 'a', start: 0, end: 0 },
      { word: 'b', start: 0.4, end: 0.4 },
    ];
    const { words: left } = read({ text: 'a b', segments: [segment('b'), silent], words });
    expect(left.map(({ word }) => word)).toEqual(['b']);
  });

  it('drops words of an unknown shape, and keeps the text', () => {
    const nothing = { text: 'a', confidence: null, language: 'english', words: [] };
    const words = [{ word: 'a', start: 0 }, { word: 'a', end: 1 }, { word: 'a', start: 'x', end: 1 }, ['a'], 'a'];
    for (const odd of [{ words }, { words: { length: 1 } }, { segments: 'a' }, { logprobs: [null, [], 7] }])
      expect(read({ text: 'a', ...odd })).toEqual(nothing);
  });

  it('ignores a time or a probability that is not a finite number', () => {
    const words = [
      { word: 'a', start: 0, end: 1, probability: NaN, score: '0.5' },
      { word: 'b', start: NaN, end: 1 },
      { word: 'c', start: 0, end: Infinity },
    ];
    expect(read({ text: 'a b c', words }).words).toEqual([{ word: 'a', start: 0, end: 1, confidence: null }]);
  });

  it.each([
    ['every word', [0.5, 0.7], 0.6],
    ['one word of two', [0.5, undefined], Math.exp(-0.1)],
    ['the only word', [0.5], 0.5],
    ['no word', [undefined], Math.exp(-0.1)],
  ])('takes its confidence from the words where %s has one', (_, probabilities, confidence) => {
    const words = probabilities.map((probability, i) => ({ word: 'abc'[i], start: i, end: i + 1, probability }));
    expect(read({ text: 'a b', segments: [segment('a b')], words }).confidence).toBeCloseTo(confidence);
  });

  it('takes a token for certain at most', () => {
    expect(read({ text: 'a', logprobs: [{ logprob: 0.5 }] }).confidence).toBe(1);
    expect(read({ text: 'a', logprobs: [{ logprob: Math.log(0.5) }] }).confidence).toBeCloseTo(0.5);
    expect(read({ text: 'a', logprobs: [] }).confidence).toBeNull();
  });

  it('takes the lower confidence of two tokens that are one word, whichever comes first', () => {
    const confidenceOf = (...probabilities: (number | undefined)[]) => {
      const tokens = probabilities.map((probability, i) => ({
        word: i === 0 ? ' a' : 'b',
        start: i,
        end: i + 1,
        probability,
      }));
      return read({ text: 'ab c', words: [...tokens, { word: ' c', start: 5, end: 6 }] }).words[0]?.confidence;
    };
    expect(confidenceOf(0.3, 0.6)).toBe(0.3);
    expect(confidenceOf(0.6, 0.3)).toBe(0.3);
    expect(confidenceOf(undefined, 0.3)).toBe(0.3);
    expect(confidenceOf(0.3, undefined)).toBe(0.3);
    expect(confidenceOf(undefined, undefined)).toBeNull();
  });

  it('joins tokens only where a later one begins with a blank', () => {
    const wordsOf = (...tokens: string[]) =>
      read({ text: 'x', words: tokens.map((word, i) => ({ word, start: i, end: i + 1 })) }).words.map(
        ({ word }) => word,
      );
    expect(wordsOf(' a', 'b', 'c')).toEqual(['a', 'b', 'c']);
    expect(wordsOf('a', 'b', 'New York')).toEqual(['a', 'b', 'New York']);
    expect(wordsOf('a', ' b')).toEqual(['a', 'b']);
    expect(wordsOf('a', ' b', 'c')).toEqual(['a', 'bc']);
    expect(wordsOf('a', 'b', ' c')).toEqual(['ab', 'c']);
    expect(wordsOf(' a', 'x今', ' c')).toEqual(['ax今', 'c']);
  });

  it('has no words where one of them contains half of a character', () => {
    const words = [
      { word: 'a', start: 0, end: 1 },
      { word: '\uFFFD', start: 1, end: 2 },
    ];
    expect(read({ text: 'a 好', words }).words).toEqual([]);
  });
});
