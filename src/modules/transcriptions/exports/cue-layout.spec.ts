import type { SentenceToken } from '../text/sentences.js';
import { CueLayout, type LaidOutCue } from './cue-layout.js';

const MIN_MS = 1000;
const MAX_MS = 7000;

const layOut = (tokens: SentenceToken[]): LaidOutCue[] => [...new CueLayout(tokens, MIN_MS, MAX_MS).cues()];

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
    expect(textsOf([...new CueLayout(tokens, 5000, MAX_MS).cues()])).toEqual(expected);
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
