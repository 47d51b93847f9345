import type { TranscribedChunk } from '../chunks/transcript-joiner.js';
import type { TimedToken } from '../alignment/time-tokens.js';
import { tokensOf } from '../alignment/tokens.js';
import { joinChannels } from './join-channels.js';
import { channelsOf, turnsOf } from './token-channels.js';

/** A chunk with a word each half second. */
function chunk(start: number, text: string, words = text.split(' ')): TranscribedChunk {
  const timed = words.map((word, index) => ({ word, start: index / 2, end: index / 2 + 0.4, confidence: 0.8 }));
  return { start, seconds: 5, transcript: { text, confidence: null, language: 'english', words: timed } };
}

describe('joinChannels', () => {
  it('leaves a recording of one channel as it is', () => {
    const joined = joinChannels([[chunk(0, 'good day'), chunk(7, 'yes')]], 10);
    expect(joined.text).toBe('good day yes');
    expect(joined.words.map((word) => Object.keys(word))).toEqual(
      Array.from({ length: 3 }, () => ['word', 'start', 'end', 'confidence']),
    );
  });

  it('merges the words of two by time, and the text with its punctuation in the same order', () => {
    const caller = [chunk(0, 'Good day, Sir.', ['good', 'day', 'sir']), chunk(6, 'The order.', ['the', 'order'])];
    const agent = [chunk(2.2, 'Hello! How can', ['hello', 'how', 'can']), chunk(6.1, 'Yes?', ['yes'])];
    const { text, words, confidence, language } = joinChannels([caller, agent], 10);
    expect(text).toBe('Good day, Sir. Hello! How can The Yes? order.');
    expect(words.map(({ word, channel }) => [word, channel])).toEqual([
      ['good', 0],
      ['day', 0],
      ['sir', 0],
      ['hello', 1],
      ['how', 1],
      ['can', 1],
      ['the', 0],
      ['yes', 1],
      ['order', 0],
    ]);
    expect({ confidence, language }).toEqual({ confidence: 0.8, language: 'english' });
  });

  it('puts the first channel first when both begin at the same time', () => {
    expect(joinChannels([[chunk(1, 'left')], [chunk(1, 'right')]], 3).text).toBe('left right');
  });

  it('merges whole chunks of an engine that reports no words', () => {
    const { text, words } = joinChannels([[chunk(0, 'One.', []), chunk(9, 'Three.', [])], [chunk(4, 'Two.', [])]], 12);
    expect({ text, words }).toEqual({ text: 'One. Two. Three.', words: [] });
  });

  it('has nothing of channels on which nobody speaks', () => {
    expect(joinChannels([[], []], 3)).toEqual({ text: '', confidence: 0, language: null, words: [] });
    expect(joinChannels([[], [chunk(1, 'hello')]], 3)).toMatchObject({ text: 'hello', words: [{ channel: 1 }] });
  });

  it('keeps the characters of a script without spaces together, and chunks without words beside them', () => {
    const chinese = [chunk(0, '你好吗 好', ['你', '好', '吗', '好'])];
    const { text } = joinChannels([chinese, [chunk(0.6, 'Yes', ['yes'])]], 5);
    expect(text).toBe('你好吗 Yes 好');
    expect(joinChannels([chinese, [chunk(0.6, ' Yes. ', [])]], 5).text).toBe('你好吗 Yes. 好');
  });
});

describe('channelsOf', () => {
  const token = (word?: number): TimedToken => ({
    ...tokensOf('a')[0]!,
    start: 0,
    end: 0,
    words: word === undefined ? [] : [word],
  });
  const WORDS = [{ channel: 1 }, { channel: 0 }];

  it('gives a token without a word the channel of the one before, at the beginning that of the one after', () => {
    expect(channelsOf([token(), token(0), token(), token(1), token()], WORDS)).toEqual([1, 1, 1, 0, 0]);
    expect(channelsOf([token(), token(0)], [{}])).toEqual([undefined, undefined]);
  });
});

describe('turnsOf', () => {
  const at = (start: number, word: number): TimedToken => ({
    ...tokensOf('a')[0]!,
    start,
    end: start + 0.5,
    words: [word],
  });
  const BOTH = [{ channel: 0 }, { channel: 1 }];
  const turns = (...tokens: TimedToken[]) =>
    turnsOf(tokens, BOTH).map(({ channel, tokens: own }) => [channel, own.length]);

  it('ends at a pause of a second in which the other side speaks, and at no other', () => {
    expect(turns(at(0, 0), at(0.7, 1), at(1.4, 0))).toEqual([
      [0, 2],
      [1, 1],
    ]);
    expect(turns(at(0, 0), at(0.7, 1), at(1.5, 0))).toEqual([
      [0, 1],
      [1, 1],
      [0, 1],
    ]);
    expect(turns(at(0, 0), at(9, 0))).toEqual([[0, 2]]);
  });
});
