import fc from 'fast-check';
import { startCpuTime } from '../../../../test/support/cpu-wait.js';
import { alignUnits, longestRising } from './align-units.js';
import { timeTokens, type TimedWord } from './time-tokens.js';
import { joinTokens, tokensOf, unitsOf } from './tokens.js';

const words = (...list: [string, number, number][]): TimedWord[] =>
  list.map(([word, start, end]) => ({ word, start, end }));
const timesOf = (text: string, spoken: TimedWord[], duration = 10) =>
  timeTokens(tokensOf(text), spoken, duration).map(({ text: token, start, end }) => [token, start, end]);

describe('tokensOf', () => {
  it('keeps words with their punctuation, and tells which begin a line', () => {
    const tokens = tokensOf('  Well, “hello”\n\tworld!\0x ');
    expect(tokens.map(({ text }) => text)).toEqual(['Well,', '“hello”', 'world!', 'x']);
    expect(tokens.map(({ newLine }) => newLine)).toEqual([false, false, true, false]);
  });

  it.each([
    ['今日は「良い」天気です。', ['今日', 'は', '「良い」', '天気', 'です。']],
    ['你好，世界', ['你好，', '世界']],
    ['สวัสดีครับ ไทย', ['สวัสดี', 'ครับ', 'ไทย']],
  ])('cuts %s into words, with punctuation where it belongs', (text, expected) => {
    expect(tokensOf(text).map((token) => token.text)).toEqual(expected);
  });

  it('loses no character, in any script', () => {
    const script = fc.constantFrom(...'aé你。「」かสّן👩‍👩‍👧 \n-.'.split(''), '👩‍👩‍👧', '\u0000', '\u2028');
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'grapheme' }),
          fc.array(script).map((list) => list.join('')),
        ),
        (text) => {
          expect(joinTokens(tokensOf(text))).toBe(text.replace(/[\s\p{Cc}]+/gu, ' ').trim());
        },
      ),
    );
  });
});

describe('unitsOf', () => {
  it.each([
    ['“Hello,”', ['hello']],
    ["don't", ['don', 't']],
    ['Ｈｅｌｌｏ', ['hello']],
    ['日本語', ['日', '本', '語']],
    ['—', ['—']],
  ])('of %s are what is compared', (text, units) => {
    expect(unitsOf(text)).toEqual(units);
  });
});

describe('alignUnits', () => {
  it.each([
    ['a b c', 'a b c', [0, 1, 2]],
    ['a b c', 'a x c', [0, -1, 2]],
    ['a b c d', 'b d', [1, 3]],
    ['the the the end', 'the end the', [0, 3, -1]],
    ['', 'a', [-1]],
  ])('matches %j with %j', (from, to, expected) => {
    const list = (text: string) => text.split(' ').filter(Boolean);
    expect([...alignUnits(list(from), list(to))]).toEqual(expected);
  });

  /** Length of the longest common subsequence. */
  const common = (a: string[], b: string[]): number => {
    const row = Array<number>(b.length + 1).fill(0);
    for (const unit of a) {
      let diagonal = 0;
      b.forEach((other, j) => {
        const above = row[j + 1] as number;
        row[j + 1] = unit === other ? diagonal + 1 : Math.max(above, row[j] as number);
        diagonal = above;
      });
    }
    return row.at(-1) as number;
  };

  it('matches as many units as there are in common, where none is unique', () => {
    const units = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 20 }).map((once) => [...once, ...once]);
    fc.assert(
      fc.property(units, units, (from, to) => {
        const found = alignUnits(from, to).filter((at) => at >= 0);
        expect(found.length).toBe(common(from, to));
      }),
    );
  });

  it('matches equal units only, and in order', () => {
    const units = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'), { maxLength: 30 });
    fc.assert(
      fc.property(units, units, (from, to) => {
        const matches = [...alignUnits(from, to)];
        const found = matches.filter((at) => at >= 0);
        expect(found).toEqual([...new Set(found)].toSorted((a, b) => a - b));
        matches.forEach((at, index) => expect(at < 0 || from[at] === to[index]).toBe(true));
      }),
    );
  });

  it('finds all of 50,000 words but the changed ones', () => {
    const from = Array.from({ length: 50_000 }, (_, i) => `w${i % 977}`);
    const to = from.map((word, i) => (i % 1000 === 7 ? 'changed' : word));
    expect(alignUnits(from, to).filter((at) => at < 0)).toHaveLength(50);
  });

  it('finds what a long text kept where a third of its words are others', () => {
    const from = Array.from({ length: 40_000 }, (_, i) => (i % 50 === 0 ? `once${i}` : `w${(i * i) % 977}`));
    const to = from.map((word, i) => (i % 3 === 1 ? `w${(i * 31) % 977}` : word));
    expect(alignUnits(from, to).filter((at) => at >= 0).length).toBeGreaterThan(26_000);
  });

  it('takes a bounded time for what has nothing in common but frequent words', () => {
    const from = Array.from({ length: 100_000 }, (_, i) => ['a', 'b', 'c'][(i * 7) % 3] as string);
    const to = Array.from({ length: 100_000 }, (_, i) => ['c', 'a', 'd'][(i * i) % 3] as string);
    const cpuMs = startCpuTime();
    alignUnits(from, to);
    expect(cpuMs()).toBeLessThan(3000);
  });
});

describe('longestRising', () => {
  it('keeps the most values that stand in order', () => {
    expect(longestRising([3, 1, 2, 2, 9, 4])).toEqual([1, 2, 3, 5]);
    expect(longestRising([])).toEqual([]);
  });
});

describe('timeTokens', () => {
  const spoken = words(['go', 0.46, 0.64], ['forward', 0.64, 1.1], ['ten', 1.3, 1.5], ['meters', 1.5, 2]);

  it('gives tokens the times of the words that they are made of, whatever their case and punctuation', () => {
    expect(timesOf('Go forward, ten meters.', spoken)).toEqual([
      ['Go', 0.46, 0.64],
      ['forward,', 0.64, 1.1],
      ['ten', 1.3, 1.5],
      ['meters.', 1.5, 2],
    ]);
  });

  it('gives a replaced word the time of the word that it replaces, and names the words that are kept', () => {
    const tokens = timeTokens(tokensOf('Go backward ten meters'), spoken, 10);
    expect(tokens.map(({ words: used }) => used)).toEqual([[0], [], [2], [3]]);
    expect(tokens[1]).toMatchObject({ start: 0.64, end: 1.1 });
  });

  it('puts added words into the pause, before the first word, and after the last', () => {
    const times = timesOf('please go forward about ten meters now', spoken);
    const of = (word: string) => times.find(([text]) => text === word) as [string, number, number];
    expect(of('please')).toEqual(['please', expect.closeTo(0.04, 5), 0.46]);
    expect(of('about')).toEqual(['about', 1.1, 1.3]);
    expect(of('now')).toEqual(['now', 2, 2.24]);
  });

  it('shares the times of replaced words among another number of words', () => {
    expect(timesOf('go on meters', spoken)).toEqual([
      ['go', 0.46, 0.64],
      ['on', 0.64, 1.5],
      ['meters', 1.5, 2],
    ]);
  });

  it('finds words that the engine cut in another way', () => {
    expect(
      timesOf("don't 日本語です", words(['don', 0, 1], ["'t", 1, 2], ['日本', 2, 4], ['語', 4, 5], ['です', 5, 6])),
    ).toEqual([
      ["don't", 0, 2],
      ['日本語', 2, 5],
      ['です', 5, 6],
    ]);
  });

  it('distributes a text without word times over the duration, or at a usual pace where that is unknown', () => {
    expect(timesOf('aa bb', [], 4)).toEqual([
      ['aa', 0, 2],
      ['bb', 2, 4],
    ]);
    expect(timesOf('aa bb', [], 0).at(-1)).toEqual(['bb', 0.18, 0.36]);
  });

  it('does not believe words that are out of order, impossible or beyond the end', () => {
    const times = timesOf('a b c d e', words(['a', 1, 2], ['b', 9, 9.5], ['c', 3, 4], ['d', NaN, 4], ['e', 99, 100]));
    expect(times[0]).toEqual(['a', 1, 2]);
    expect(times[2]).toEqual(['c', 3, 4]);
    expect(times[1]).toEqual(['b', 2, 2.12]);
    expect(times[4]?.[2]).toBeLessThanOrEqual(10);
  });

  it('keeps starts in order whatever the text and the words', () => {
    const word = fc.constantFrom('a', 'b', 'c', 'don’t', '語', '日本', '—');
    const time = fc.oneof(fc.double({ min: 0, max: 20, noNaN: true }), fc.constant(NaN), fc.constant(-1));
    fc.assert(
      fc.property(
        fc.array(word),
        fc.array(fc.record({ word, start: time, end: time })),
        fc.constantFrom(0, 5, 20),
        (text, reported, duration) => {
          const tokens = timeTokens(tokensOf(text.join(' ')), reported, duration);
          expect(joinTokens(tokens)).toBe(joinTokens(tokensOf(text.join(' '))));
          tokens.forEach(({ start, end }, index) => {
            expect(start).toBeGreaterThanOrEqual(tokens[index - 1]?.start ?? 0);
            expect(end).toBeGreaterThanOrEqual(start);
          });
        },
      ),
    );
  });
});
