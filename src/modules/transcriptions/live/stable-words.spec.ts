import type { TranscriptWord } from '../engines/transcription-engine.js';
import { StableWords } from './stable-words.js';

const word = (text: string, start: number, end: number): TranscriptWord => ({
  word: text,
  start,
  end,
  confidence: null,
});
const textOf = (words: readonly TranscriptWord[]): string => words.map(({ word: text }) => text).join(' ');

describe('StableWords', () => {
  it('gives a word once two hypotheses in a row have it, a while after its end', () => {
    const stable = new StableWords();
    const go = word('go', 0, 0.3);
    expect(stable.add([go], 0.4)).toEqual([]);
    // It may still become another.
    expect(stable.add([go], 0.45)).toEqual([]);
    expect(stable.add([go], 0.55)).toEqual([go]);
    expect(stable.add([go], 0.65)).toEqual([]);
  });

  it('waits while hypotheses differ, and gives no word after one that is not stable', () => {
    const stable = new StableWords();
    const later = word('forward', 0.4, 0.8);
    expect(stable.add([word('co', 0, 0.3), later], 1.2)).toEqual([]);
    expect(stable.add([word('go', 0, 0.3), later], 1.3)).toEqual([]);
    expect(textOf(stable.add([word('go', 0, 0.3), later], 1.4))).toBe('go forward');
  });

  it('never takes a word back: what a later hypothesis puts in its place is left out', () => {
    const stable = new StableWords();
    const first = [word('four', 0, 0.4)];
    stable.add(first, 0.6);
    expect(textOf(stable.add(first, 0.7))).toBe('four');
    const second = [word('for', 0, 0.2), word('word', 0.2, 0.6), word('ten', 0.7, 0.9)];
    stable.add(second, 1.1);
    expect(textOf(stable.add(second, 1.2))).toBe('ten');
  });

  it('takes the same word at another place for another', () => {
    const stable = new StableWords();
    stable.add([word('ten', 0, 0.3)], 1);
    expect(stable.add([word('ten', 0.3, 0.6)], 1.1)).toEqual([]);
  });
});
