import { alignUnits, longestRising } from './align-units.js';
import { type Token, unitsOf } from './tokens.js';

/** A word as engines report it: seconds from the start of the recording. */
export interface TimedWord {
  word: string;
  start: number;
  end: number;
}

export interface TimedToken extends Token {
  /** Seconds from the start of the recording. Starts never decrease from one token to the next. */
  start: number;
  end: number;
  /** For each unit of the token the index of its word; empty when it is not, or not only, made of reported words. */
  words: number[];
}

/** A stretch of time, and how much text was spoken in it. */
interface Span {
  start: number;
  end: number;
  weight: number;
}

/** A unit of a reported word. */
interface SpokenUnit extends Span {
  text: string;
  word: number;
}

/** Where no time is known, a word takes this long for each character and for the space after it. */
const SECONDS_PER_CHARACTER = 0.06;
/** Engines are off by parts of a second at the end of a recording; what begins later than this is not in it. */
const TOLERANCE_SECONDS = 1;

/**
 * Gives each token of a text the time at which it was spoken: that of the reported word that it matches, else an
 * interpolated one. Without reported times the tokens are distributed over the duration.
 * @param durationSeconds of the recording; 0 when unknown
 */
export function timeTokens(
  tokens: readonly Token[],
  words: readonly TimedWord[],
  durationSeconds: number,
): TimedToken[] {
  const spoken = spokenUnits(words, durationSeconds);
  const matches = matchesOf(tokens, spoken);
  const timed: TimedToken[] = [];
  let lastSpoken = -1;
  while (timed.length < tokens.length) {
    const match = matches[timed.length];
    if (match) {
      const [{ start }, { end }] = [spoken[match.from] as SpokenUnit, spoken[match.to] as SpokenUnit];
      timed.push(timedToken(tokens[timed.length] as Token, start, end, match.words));
      lastSpoken = match.to;
      continue;
    }
    const next = nextMatch(matches, timed.length);
    const gap = tokens.slice(timed.length, next);
    const nextSpoken = matches[next]?.from ?? spoken.length;
    const around = {
      before: timed.at(-1)?.end ?? null,
      after: spoken[nextSpoken]?.start ?? null,
      durationSeconds,
    };
    const spans = spansFor(gap, spoken.slice(lastSpoken + 1, nextSpoken), around);
    for (const token of distribute(gap, spans)) timed.push(token);
  }
  return inOrder(timed);
}

/** The spoken units that a token matches: the first and the last, and the words of all if every unit matches. */
interface Match {
  from: number;
  to: number;
  words: number[];
}

/** For each token its match, if it has any. */
function matchesOf(tokens: readonly Token[], spoken: readonly SpokenUnit[]): (Match | null)[] {
  const units = tokens.map(({ text }) => unitsOf(text));
  const found = alignUnits(
    spoken.map(({ text }) => text),
    units.flat(),
  );
  let first = 0;
  return units.map(({ length }) => {
    const matched: number[] = [];
    for (let unit = first; unit < first + length; unit++) {
      const at = found[unit] as number;
      if (at >= 0) matched.push(at);
    }
    first += length;
    const [from, to] = [matched[0], matched.at(-1)];
    if (from === undefined || to === undefined) return null;
    const words = matched.length === length ? matched.map((at) => (spoken[at] as SpokenUnit).word) : [];
    return { from, to, words };
  });
}

/** The index of the first match from `index` on, or of the end. */
function nextMatch(matches: readonly (Match | null)[], index: number): number {
  let next = index;
  while (next < matches.length && matches[next] === null) next += 1;
  return next;
}

function timedToken({ text, glued, newLine }: Token, start: number, end: number, words: number[]): TimedToken {
  return { text, glued, newLine, start, end, words };
}

/** Words may overlap, and times that are interpolated between such words would go back. */
function inOrder(tokens: TimedToken[]): TimedToken[] {
  let latest = 0;
  for (const token of tokens) {
    token.start = Math.max(token.start, latest);
    token.end = Math.max(token.end, token.start);
    latest = token.start;
  }
  return tokens;
}

/** Units of the words that have usable times, in rising order. Words of which the order is wrong have none. */
function spokenUnits(words: readonly TimedWord[], durationSeconds: number): SpokenUnit[] {
  const latest = durationSeconds > 0 ? durationSeconds + TOLERANCE_SECONDS : Infinity;
  const usable = words.flatMap(({ start }, word) => (start >= 0 && start <= latest && start < Infinity ? word : []));
  const rising = longestRising(usable.map((word) => (words[word] as TimedWord).start));
  return rising.flatMap((index) => unitsOfWord(words, usable[index] as number));
}

function unitsOfWord(words: readonly TimedWord[], word: number): SpokenUnit[] {
  const { word: text, start, end } = words[word] as TimedWord;
  const units = unitsOf(text);
  const length = units.reduce((sum, unit) => sum + unit.length, 0);
  const seconds = Number.isFinite(end) ? Math.max(0, end - start) : 0;
  let at = 0;
  return units.map((unit) => {
    const from = start + (seconds * at) / length;
    at += unit.length;
    const to = at === length ? start + seconds : start + (seconds * at) / length;
    return { text: unit, word, start: from, end: to, weight: unit.length };
  });
}

/** The time that a run of tokens without a match may have been spoken in. */
function spansFor(
  gap: readonly Token[],
  unclaimed: Span[],
  { before, after, durationSeconds }: { before: number | null; after: number | null; durationSeconds: number },
): Span[] {
  const weight = 1;
  const usual = gap.reduce((sum, { text }) => sum + (text.length + 1) * SECONDS_PER_CHARACTER, 0);
  const floor = before ?? 0;
  if (unclaimed.length > 0) return unclaimed.map((span) => within(span, Math.min(floor, after ?? floor), after));
  if (before === null && after === null) return [{ start: 0, end: durationSeconds || usual, weight }];
  if (before === null) return [{ start: Math.max(0, (after ?? 0) - usual), end: after ?? 0, weight }];
  const ceiling = after ?? Math.max(durationSeconds, floor);
  const start = Math.min(floor, ceiling);
  return [
    { start, end: after === null && ceiling === floor ? floor + usual : Math.min(ceiling, floor + usual), weight },
  ];
}

function within(span: Span, floor: number, ceiling: number | null): Span {
  const clamp = (time: number): number => Math.min(Math.max(time, floor), ceiling ?? Infinity);
  return { ...span, start: clamp(span.start), end: clamp(span.end) };
}

/** Shares the spans among the tokens, in proportion to the text. */
function distribute(tokens: readonly Token[], spans: readonly Span[]): TimedToken[] {
  const units = tokens.map(({ text }) => unitsOf(text).length);
  const isOneForOne = units.reduce((sum, count) => sum + count, 0) === spans.length;
  const weights = isOneForOne ? units : tokens.map(({ text }) => text.length);
  const timeline = new Timeline(isOneForOne ? spans.map((span) => ({ ...span, weight: 1 })) : spans);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let passed = 0;
  return tokens.map((token, index) => {
    const start = timeline.startAt(passed / total);
    passed += weights[index] as number;
    return timedToken(token, start, timeline.endAt(passed / total), []);
  });
}

/** Finds the time at which a share of the text of some spans was spoken. It is asked for rising shares only. */
class Timeline {
  private readonly total: number;
  private index = 0;
  private passed = 0;

  constructor(private readonly spans: readonly Span[]) {
    this.total = spans.reduce((sum, { weight }) => sum + weight, 0);
  }

  /** Where a share begins: at the start of the next span, if it begins with that. */
  startAt(share: number): number {
    const weight = share * this.total;
    while (this.index < this.spans.length - 1 && weight >= this.passed + this.span.weight - 1e-9) this.next();
    return this.timeOf(weight);
  }

  /** Where a share ends: at the end of a span, if it ends with that. */
  endAt(share: number): number {
    const weight = share * this.total;
    while (this.index < this.spans.length - 1 && weight > this.passed + this.span.weight + 1e-9) this.next();
    return this.timeOf(weight);
  }

  private get span(): Span {
    return this.spans[this.index] as Span;
  }

  private next(): void {
    this.passed += this.span.weight;
    this.index += 1;
  }

  private timeOf(weight: number): number {
    const { start, end, weight: own } = this.span;
    return start + (end - start) * Math.min(1, Math.max(0, (weight - this.passed) / own));
  }
}
