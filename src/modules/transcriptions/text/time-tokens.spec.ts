import { timeTokens } from './time-tokens.js';
import { tokensOf } from './tokens.js';

type Word = [word: string, start: number, end: number];

const timesOf = (text: string, words: Word[], duration = 10) =>
  timeTokens(
    tokensOf(text),
    words.map(([word, start, end]) => ({ word, start, end })),
    duration,
  ).map(({ text: token, start, end }) => [token, Number(start.toFixed(4)), Number(end.toFixed(4))]);

describe('the words whose times are accepted', () => {
  it.each<[string, Word, number, [number, number]]>([
    ['one at the start', ['a', 0, 1], 10, [0, 1]],
    ['one a second after the end', ['a', 11, 12], 10, [11, 12]],
    ['none later than that', ['a', 11.01, 12], 10, [0, 10]],
    ['none before the start', ['a', -0.01, 1], 10, [0, 10]],
    ['one at any time of a recording of unknown length', ['a', 500, 501], 0, [500, 501]],
    ['none at infinity', ['a', Infinity, 1], 0, [0, 0.12]],
    ['one without an end', ['a', 1, NaN], 10, [1, 1]],
    ['one that ends before it starts', ['a', 1, 0.5], 10, [1, 1]],
    ['one that ends at infinity', ['a', 1, Infinity], 10, [1, 1]],
  ])('are %s', (_, word, duration, [start, end]) => {
    expect(timesOf('a', [word], duration)).toEqual([['a', start, end]]);
  });
});

describe('the time of a word without a reported time', () => {
  it.each<[string, Word[], number, [string, number, number][]]>([
    [
      'after the last word: 0.06 s for each character and the blank',
      [['a', 1, 2]],
      10,
      [
        ['a', 1, 2],
        ['xyz', 2, 2.24],
      ],
    ],
    [
      'after the last word, to the end at most',
      [['a', 9, 9.9]],
      10,
      [
        ['a', 9, 9.9],
        ['xyz', 9.9, 10],
      ],
    ],
    [
      'after a last word that reaches beyond the end',
      [['a', 9, 10.5]],
      10,
      [
        ['a', 9, 10.5],
        ['xyz', 10.5, 10.74],
      ],
    ],
    [
      'after the last word of a recording of unknown length',
      [['a', 1, 2]],
      0,
      [
        ['a', 1, 2],
        ['xyz', 2, 2.24],
      ],
    ],
  ])('is %s', (_, words, duration, expected) => {
    expect(timesOf('a xyz', words, duration)).toEqual(expected);
  });

  it.each<[string, Word, [number, number]]>([
    ['right before the first', ['a', 1, 2], [0.76, 1]],
    ['no time before the start', ['a', 0.1, 2], [0, 0.1]],
  ])('is %s', (_, word, [start, end]) => {
    expect(timesOf('xyz a', [word])[0]).toEqual(['xyz', start, end]);
  });

  it.each<[string, Word[], [number, number]]>([
    [
      'right after the word before, in a long pause',
      [
        ['a', 1, 2],
        ['b', 9, 10],
      ],
      [2, 2.24],
    ],
    [
      'the pause, where that is short',
      [
        ['a', 1, 2],
        ['b', 2.05, 3],
      ],
      [2, 2.05],
    ],
    [
      'the start of the next word, where words overlap',
      [
        ['a', 1, 3],
        ['b', 2, 4],
      ],
      [2, 2],
    ],
    [
      'that of the word in its place',
      [
        ['a', 1, 2],
        ['q', 3, 4],
        ['b', 9, 10],
      ],
      [3, 4],
    ],
    [
      'that of the word in its place, between its neighbours',
      [
        ['a', 1, 2],
        ['q', 1.5, 2.5],
        ['b', 2.2, 3],
      ],
      [2, 2.2],
    ],
    [
      'the start of the next word, where all three overlap',
      [
        ['a', 1, 3],
        ['q', 2, 2.5],
        ['b', 2.2, 4],
      ],
      [2.2, 2.2],
    ],
  ])('between two words is %s', (_, words, [start, end]) => {
    expect(timesOf('a xyz b', words)[1]).toEqual(['xyz', start, end]);
  });

  it('is that of the words in their place, one for one, where there are as many', () => {
    const words: Word[] = [
      ['a', 0, 1],
      ['longer', 1, 2],
      ['q', 3, 5],
      ['b', 6, 7],
    ];
    expect(timesOf('a x yyyyyyyy b', words).slice(1, 3)).toEqual([
      ['x', 1, 2],
      ['yyyyyyyy', 3, 5],
    ]);
  });

  it('is a share of the words in their place by the length of the text, where there are more or fewer', () => {
    const words: Word[] = [
      ['a', 0, 1],
      ['forward', 1, 8],
      ['ten', 20, 23],
      ['b', 30, 31],
    ];
    expect(timesOf('a x bcd efgh b', words, 60).slice(1, 4)).toEqual([
      ['x', 1, 2.25],
      ['bcd', 2.25, 6],
      ['efgh', 6, 23],
    ]);
    expect(timesOf('a wxyz b', words, 60)[1]).toEqual(['wxyz', 1, 23]);
    // A share that ends with a word ends there, and the next one starts with the next word.
    expect(
      timesOf(
        'a uuuu vvv qqq b',
        [...words.slice(0, 1), ['sevenxx', 1, 8], ['thr', 20, 23], ...words.slice(3)],
        60,
      ).slice(1, 4),
    ).toEqual([
      ['uuuu', 1, 5],
      ['vvv', 5, 8],
      ['qqq', 20, 23],
    ]);
  });
});

describe('the times of a word in parts', () => {
  it('are shared by the length of the parts', () => {
    expect(timesOf('don t', [["don't", 0, 4]])).toEqual([
      ['don', 0, 3],
      ['t', 3, 4],
    ]);
  });

  it('are those of the parts that are found; only a whole word is named', () => {
    const words = [
      { word: 'don', start: 1, end: 2 },
      { word: 'x', start: 3, end: 4 },
    ];
    expect(timeTokens(tokensOf("don't x"), words, 10)).toMatchObject([
      { start: 1, end: 2, words: [] },
      { start: 3, end: 4, words: [1] },
    ]);
    expect(timeTokens(tokensOf('don-x'), words, 10)).toMatchObject([{ start: 1, end: 4, words: [0, 1] }]);
  });
});
