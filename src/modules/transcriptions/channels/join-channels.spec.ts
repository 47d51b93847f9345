import type { TranscribedChunk } from '../chunks/transcript-joiner.js';
import { joinChannels } from './join-channels.js';

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
});
