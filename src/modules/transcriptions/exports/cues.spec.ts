import type { SentenceToken } from '../text/sentences.js';
import { CueLayout, cuesOf, type ExportSource, type LaidOutCue } from './cues.js';
import { subRipOf } from './render-export.js';

type Spoken = [word: string, start: number, end: number, channel?: number];

const source = (...spoken: Spoken[]): ExportSource => ({
  text: spoken.map(([word]) => word).join(' '),
  words: spoken.map(([word, start, end, channel]) => ({
    word,
    start,
    end,
    ...(channel === undefined ? {} : { channel }),
  })),
  durationSeconds: 60,
});

const shown = (...spoken: Spoken[]): [number, number, string][] =>
  cuesOf(source(...spoken)).map(({ startMs, endMs, text }) => [startMs, endMs, text]);

describe('the times of cues', () => {
  it.each<[string, Spoken, [number, number]]>([
    ['a second at least', ['a', 2, 2.2], [2000, 3000]],
    ['as long as the words take', ['a', 2, 3.5], [2000, 3500]],
    ['seven seconds at most', ['a', 2, 9.001], [2000, 9000]],
    ['whole milliseconds', ['a', 1.0006, 3.0004], [1001, 3000]],
  ])('are %s', (_, spoken, [start, end]) => {
    expect(shown(spoken)).toEqual([[start, end, spoken[0]]]);
  });

  it('of one channel do not overlap: the next comes when the one before is gone', () => {
    expect(shown(['one.', 0, 0.1], ['two', 1.2, 1.3])).toEqual([
      [0, 1000, 'one.'],
      [1200, 2200, 'two'],
    ]);
    expect(shown(['one', 0, 0.1, 0], ['two', 0.2, 0.3, 1], ['three', 0.4, 3, 0])).toHaveLength(2);
    const both = cuesOf(source(['one', 0, 0.1, 0], ['two', 0.5, 0.6, 1]));
    expect(both.map(({ startMs, endMs, voice }) => [startMs, endMs, voice])).toEqual([
      [0, 1000, 'Channel 0'],
      [500, 1500, 'Channel 1'],
    ]);
  });

  const [x, y, z] = ['x'.repeat(42), `${'y'.repeat(41)},`, 'z'.repeat(42)] as const;

  it('come later where two lines are said in less than a second', () => {
    expect(shown([x, 0, 0.1], [y, 0.2, 0.3], [z, 0.4, 0.5])).toEqual([
      [0, 1000, `${x} ${y}`],
      [1000, 2000, z],
    ]);
  });

  it('end where the next word begins, though an engine reports a word for longer', () => {
    expect(shown([x, 0, 1], [y, 1, 6], [z, 2, 3])).toEqual([
      [0, 2000, `${x} ${y}`],
      [2000, 3000, z],
    ]);
  });
});

describe('the parts of a long word', () => {
  it.each([
    [42, [42]],
    [43, [42, 1]],
    [85, [42, 42, 1]],
  ])('of %s characters have %j', (length, parts) => {
    const cues = cuesOf(source(['x'.repeat(length), 0, 1]));
    const lines = cues.flatMap((cue) => cue.lines);
    expect(cues.map(({ text }) => text).join('')).toBe('x'.repeat(length));
    expect(lines.map((line) => line.length)).toEqual(parts);
  });

  it('never cut a character, unless it is longer than a line itself', () => {
    const family = '👩‍👩‍👧‍👦';
    const lines = cuesOf(source([family.repeat(5), 0, 2])).flatMap((cue) => cue.lines);
    expect(lines).toEqual([family.repeat(3), family.repeat(2)]);
    const pile = `a${'\u0301'.repeat(60)}`;
    const piled = cuesOf(source([pile, 0, 2])).flatMap((cue) => cue.lines);
    expect(piled.map((line) => line.length)).toEqual([42, 19]);
  });

  it('end a sentence only with the last of them', () => {
    const word = `${'x'.repeat(83)}.`;
    expect(shown([word, 0, 8.4], ['Next', 8.4, 9])).toEqual([
      [0, 4200, 'x'.repeat(42)],
      [4200, 8400, `${'x'.repeat(41)}.`],
      [8400, 9400, 'Next'],
    ]);
  });
});

describe('the names of channels in SubRip', () => {
  const lines = (...spoken: Spoken[]) => subRipOf(source(...spoken)).split('\n');

  it('stand before the first words of each turn, and take no time', () => {
    expect(lines(['one', 1, 2, 0], ['two', 4, 5, 0], ['three', 7, 8, 1])).toEqual([
      '1',
      '00:00:01,000 --> 00:00:02,000',
      'Channel 0: one',
      '',
      '2',
      '00:00:04,000 --> 00:00:05,000',
      'two',
      '',
      '3',
      '00:00:07,000 --> 00:00:08,000',
      'Channel 1: three',
      '',
    ]);
  });

  it('leave every word of the turn after them', () => {
    expect(lines(['one', 1, 1.5, 0], ['two', 1.5, 2, 0], ['three', 2, 2.5, 0])[2]).toBe('Channel 0: one two three');
  });

  it('are left out where the channels were transcribed together', () => {
    expect(lines(['one', 1, 2])[2]).toBe('one');
  });
});

const MIN_MS = 1000;
const MAX_MS = 7000;

const layOut = (tokens: SentenceToken[]): LaidOutCue[] => [...new CueLayout(tokens).cues()];

type Said = readonly [text: string, pause: number, length: number, more?: Partial<SentenceToken>];

/** Tokens, each after a pause and of a length in milliseconds. */
function tokensOf(said: readonly Said[]): SentenceToken[] {
  let at = 0;
  return said.map(([text, pause, length, more]) => {
    const start = at + pause;
    at = start + length;
    return { text, start, end: at, glued: false, newLine: false, words: [], endsSentence: false, ...more };
  });
}

const textsOf = (cues: LaidOutCue[]): string[][] => cues.map(({ tokens }) => tokens.map(({ text }) => text));

/** Numbers from 0 to 1, the same in every run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

function randomTokens(seed: number): SentenceToken[] {
  const next = numbers(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  const said = Array.from({ length: 7 }, (): Said => {
    const end = pick(['', '', '', ',', ';']);
    const more = { glued: next() < 0.15, endsSentence: next() < 0.25 };
    const text = 'x'.repeat(2 + Math.floor(next() * 24)) + end;
    return [text, pick([0, 0, 20, 399, 400, 700, 999, 1000]), Math.floor(next() * 1400), more];
  });
  return tokensOf(said);
}

/** The sum of the penalties of these cues. */
function costOf(tokens: SentenceToken[], cues: SentenceToken[][]): number {
  let cost = 0;
  for (const cue of cues) {
    const first = tokens.indexOf(cue[0]!);
    const following = tokens[first + cue.length];
    cost += 20 + Math.max(0, cue[0]!.start + MIN_MS - (following?.start ?? Infinity)) / 2;
    for (let i = first; i < first + cue.length; i++) {
      const [token, before] = [tokens[i]!, tokens[i - 1]];
      if (!before) continue;
      const pause = token.start - before.end;
      if (i > first) cost += (pause >= 400 ? 80 : 0) + (before.endsSentence ? 25 : 0);
      else if (pause < 400 && !before.endsSentence)
        cost += /[,;]$/.test(before.text) ? 15 : 60 + (token.glued ? 40 : 0);
    }
  }
  return cost;
}

/** Whether the words fit into two lines of 42 characters, and into 7 s. */
function fits(cue: SentenceToken[]): boolean {
  const lines = [0];
  for (const { text, glued } of cue) {
    const longer = lines.at(-1)! + text.length + (glued || lines.at(-1) === 0 ? 0 : 1);
    if (longer <= 42) lines[lines.length - 1] = longer;
    else lines.push(text.length);
  }
  return lines.length <= 2 && (cue.length === 1 || cue.at(-1)!.end - cue[0]!.start <= MAX_MS);
}

/** Every way to cut the tokens into cues that fit, none across a pause of a second. */
function* waysOf(tokens: SentenceToken[]): Generator<SentenceToken[][]> {
  for (let ways = 0; ways < 2 ** (tokens.length - 1); ways++) {
    const cues: SentenceToken[][] = [[]];
    tokens.forEach((token, i) => {
      if (i > 0 && (ways >> (i - 1)) & 1) cues.push([]);
      cues.at(-1)!.push(token);
    });
    const crosses = cues.some((cue) => cue.some((token, i) => i > 0 && token.start - cue[i - 1]!.end >= 1000));
    if (!crosses && cues.every(fits)) yield cues;
  }
}

describe('CueLayout', () => {
  it('chooses the cheapest of all ways to cut', () => {
    for (let seed = 1; seed <= 400; seed++) {
      const tokens = randomTokens(seed);
      const chosen = layOut(tokens).map((cue) => cue.tokens);
      expect(chosen.flat()).toEqual(tokens);
      const costs = [...waysOf(tokens)].map((cues) => costOf(tokens, cues));
      expect([seed, chosen.every(fits), costOf(tokens, chosen)]).toEqual([seed, true, Math.min(...costs)]);
    }
  });

  it.each([
    [999, [['a', 'b']]],
    [1000, [['a'], ['b']]],
  ])('never reaches across a pause of a second: %s ms', (pause, expected) => {
    const tokens = tokensOf([
      ['a', 0, 100],
      ['b', pause, 0],
    ]);
    // A cut would come too early, so that only the length of the pause decides.
    expect(textsOf([...new CueLayout(tokens, 5000).cues()])).toEqual(expected);
  });

  it.each([
    [7000, 1],
    [7001, 2],
  ])('holds words of 7 s at most, but one word of any length: %s ms', (length, count) => {
    expect(
      layOut(
        tokensOf([
          ['a', 0, 3000],
          ['b', 0, length - 3000],
        ]),
      ),
    ).toHaveLength(count);
    expect(layOut(tokensOf([['a', 0, length]]))).toHaveLength(1);
  });

  it.each([
    [['x'.repeat(42), 'y'.repeat(42)], 1],
    [['x'.repeat(20), 'y'.repeat(21), 'z'.repeat(42)], 1],
    [['x'.repeat(20), 'y'.repeat(22), 'z'.repeat(42)], 2],
    [['x'.repeat(42), 'y'.repeat(42), 'z'], 2],
  ])('fills two lines of 42 characters: %j', (texts, count) => {
    expect(layOut(tokensOf(texts.map((text): Said => [text, 0, 1000])))).toHaveLength(count);
  });

  const linesOf = (...said: (string | Said)[]): string[] | undefined =>
    layOut(tokensOf(said.map((item) => (typeof item === 'string' ? [item, 0, 10] : item))))[0]?.lines;
  const x = (count: number, end = ''): string => 'x'.repeat(count) + end;

  it.each<[string, (string | Said)[], string[]]>([
    ['one line of 42 characters', [x(20), x(21)], [`${x(20)} ${x(21)}`]],
    ['two lines from 43 characters on', [x(20), x(22)], [x(20), x(22)]],
    ['lines of similar length', [x(10), x(20), x(20), x(10)], [`${x(10)} ${x(20)}`, `${x(20)} ${x(10)}`]],
    ['the first of two equal ways', [x(20), x(4), x(20)], [x(20), `${x(4)} ${x(20)}`]],
    ['a cut at a comma that is near', [x(16, ','), x(5), x(24)], [x(16, ','), `${x(5)} ${x(24)}`]],
    ['no cut at a comma that is far', [x(16, ','), x(6), x(24)], [`${x(16, ',')} ${x(6)}`, x(24)]],
    [
      'a cut at the end of a sentence',
      [[x(17), 0, 10, { endsSentence: true }], x(5), x(24)],
      [x(17), `${x(5)} ${x(24)}`],
    ],
    [
      'a cut between words rather than in one',
      [x(12), x(9), [x(9), 0, 10, { glued: true }], x(19)],
      [`${x(12)} ${x(18)}`, x(19)],
    ],
    [
      'a cut in a word where the lines differ much',
      [x(12), x(9), [x(9), 0, 10, { glued: true }], x(18)],
      [`${x(12)} ${x(9)}`, `${x(9)} ${x(18)}`],
    ],
    ['glued tokens without a blank', [x(30), [x(20), 0, 10, { glued: true }]], [x(30), x(20)]],
  ])('makes %s', (_, said, expected) => {
    expect(linesOf(...said)).toEqual(expected);
  });
});
