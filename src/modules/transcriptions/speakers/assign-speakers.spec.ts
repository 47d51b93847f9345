import { assignSpeakers } from './assign-speakers.js';

/** `[start, end, speaker]` of each segment, `[start, end]` of each word. */
const assigned = (segments: [number, number, number][], words: [number, number][]) =>
  assignSpeakers(
    words.map(([start, end]) => ({ start, end })),
    segments.map(([start, end, speaker]) => ({ start, end, speaker })),
  );

describe('assignSpeakers', () => {
  it.each<[string, [number, number, number][], [number, number][], (number | null)[]]>([
    [
      'the one in whose segment it is',
      [
        [0, 2, 0],
        [2, 4, 1],
      ],
      [
        [0.5, 1],
        [2.5, 3],
      ],
      [0, 1],
    ],
    [
      'the one with most of it',
      [
        [0, 2, 0],
        [2, 4, 1],
      ],
      [
        [1.5, 2.2],
        [1.8, 2.5],
      ],
      [0, 1],
    ],
    [
      'the one with most of it in all',
      [
        [0, 1, 0],
        [1, 1.3, 1],
        [1.3, 2, 0],
      ],
      [[0.8, 1.5]],
      [0],
    ],
    [
      'the one with most of it, where segments are unsorted',
      [
        [2, 4, 1],
        [0, 2, 0],
      ],
      [
        [0.5, 1],
        [3, 3.5],
      ],
      [0, 1],
    ],
    [
      'the one who speaks longer, where two speak at once',
      [
        [0, 5, 0],
        [1, 2, 1],
      ],
      [[1.8, 2.4]],
      [0],
    ],
    [
      'the first to begin, where two speak as long',
      [
        [1, 9, 1],
        [0, 9, 0],
      ],
      [[3, 4]],
      [0],
    ],
    [
      'the one of a long segment behind others',
      [
        [0, 10, 0],
        [1, 2, 1],
        [3, 4, 1],
      ],
      [[6, 7]],
      [0],
    ],
    [
      'the nearest, between segments',
      [
        [0, 1, 0],
        [3, 4, 1],
      ],
      [
        [1.2, 1.5],
        [2.5, 2.9],
      ],
      [0, 1],
    ],
    [
      'the nearest, where a segment before ends later than another',
      [
        [0, 5, 0],
        [1, 2, 1],
        [9, 10, 2],
      ],
      [[6, 6.5]],
      [0],
    ],
    [
      'the one before, of two as near',
      [
        [0, 1, 0],
        [3, 4, 1],
      ],
      [[1.5, 2.5]],
      [0],
    ],
    ['the first, before all segments', [[5, 6, 1]], [[0, 0.4]], [1]],
    ['the last, after all segments', [[5, 6, 1]], [[8, 9]], [1]],
    [
      'the one in whose segment it is, without a length',
      [
        [0, 2, 0],
        [2, 4, 1],
      ],
      [
        [1, 1],
        [3, 3],
      ],
      [0, 1],
    ],
    [
      'the one of a segment that ends after the audio',
      [
        [0, 1, 0],
        [1, 99, 1],
      ],
      [[1.5, 1.9]],
      [1],
    ],
    [
      'nobody, without segments',
      [],
      [
        [0, 1],
        [1, 2],
      ],
      [null, null],
    ],
  ])('gives a word to %s', (_, segments, words, expected) => {
    expect(assigned(segments, words)).toEqual(expected);
  });

  it('takes words in any order, and is the same for many as for each alone', () => {
    const number = (i: number) => ((i * 7919) % 1000) / 10;
    const segments = Array.from({ length: 200 }, (_, i): [number, number, number] => [number(i), number(i) + 1, i % 4]);
    const words = Array.from({ length: 300 }, (_, i): [number, number] => [number(i * 3), number(i * 3) + 0.4]);
    expect(assigned(segments, words)).toEqual(words.map((word) => assigned(segments, [word])[0]));
    expect(assigned(segments.toReversed(), words).filter((speaker) => speaker === null)).toEqual([]);
  });
});
