import { markSentenceEnds, type SentenceToken } from '../text/sentences.js';
import { type TimedWord, timeTokens } from '../text/time-tokens.js';
import { endsClause, joinTokens, tokensOf } from '../text/tokens.js';
import { isConversation, type SpeakerNames, turnsOf, type VoicedWord } from '../text/turns.js';

/** What an export is made of. */
export interface ExportSource {
  /** The words of the text, with its punctuation, are what is exported. */
  text: string;
  /** Times of its words, as an engine or a person gave them; without any the text is distributed over the duration. */
  words: readonly (TimedWord & VoicedWord)[];
  /** Who the speakers are; labels stand for those without a name. */
  names?: SpeakerNames;
  /** Length of the recording; 0 when unknown. */
  durationSeconds: number;
}

/** What is shown at one time. Whole milliseconds from the start of the recording. */
export interface Cue {
  startMs: number;
  endMs: number;
  /** One or two, each of at most 42 characters (UTF-16 units). */
  lines: string[];
  /** The same in one line. */
  text: string;
  /** Who says it, if that is known: a speaker's name or label, or a channel. */
  voice?: string;
}

const MIN_CUE_MS = 1000;
const MAX_CUE_MS = 7000;
/** Characters (UTF-16 units) of a line; players count in several ways, and no line is longer in any of them. */
const MAX_LINE = 42;
const MAX_LINES = 2;

/** Cues never reach across a pause of this length. */
const LONG_PAUSE_MS = 1000;
/** A pause that counts as a break. */
const PAUSE_MS = 400;

/**
 * Cuts a transcript into cues of 1 to 7 seconds and at most two lines, at pauses and, where it can be, at punctuation.
 * Cues are in order, and those of one voice do not overlap. Where words follow each other faster than cues can be shown,
 * cues come later than their words, until the next pause. A cue has what was said by one voice.
 * @param options `namesVoices`: whether the text begins with who speaks whenever that changes
 */
export function cuesOf({ text, words, durationSeconds, names }: ExportSource, { namesVoices = false } = {}): Cue[] {
  const turns = turnsOf(markSentenceEnds(timeTokens(tokensOf(text), words, durationSeconds)), words, names);
  const parts = timed(turns.flatMap(({ voice, tokens }) => layOut(piecesOf(tokens), voice)));
  const isNamed = namesVoices && isConversation(turns, words);
  const shown = isNamed ? timed(parts.flatMap((part, index) => withName(part, parts[index - 1]))) : parts;
  return shown.map(({ voice, tokens, ...rest }) => {
    const cue = { ...rest, text: joinTokens(tokens) };
    return voice === undefined ? cue : { ...cue, voice };
  });
}

/** A cue without its times. */
interface CuePart {
  voice: string | undefined;
  tokens: SentenceToken[];
  lines: string[];
}

function layOut(pieces: readonly SentenceToken[], voice: string | undefined): CuePart[] {
  return Array.from(new CueLayout(pieces).cues(), (cue) => ({ ...cue, voice }));
}

/** The part with who speaks, if that is another than before. It may take two cues then. */
function withName(part: CuePart, before: CuePart | undefined): CuePart[] {
  const { voice, tokens } = part;
  const [first] = tokens;
  if (!first || voice === undefined || voice === before?.voice) return [part];
  const name = { ...first, text: `${shortened(voice)}:`, end: first.start, words: [], endsSentence: false };
  return layOut([name, { ...first, glued: false, newLine: false }, ...tokens.slice(1)], voice);
}

/** A name that fits into a line with its colon. */
function shortened(name: string): string {
  if (name.length < MAX_LINE) return name;
  let short = '';
  for (const character of charactersOf(name)) {
    if (short.length + character.length > MAX_LINE - 2) break;
    short += character;
  }
  return `${short.trimEnd()}…`;
}

/** In the order of their start. */
function timed(parts: readonly CuePart[]): (CuePart & Pick<Cue, 'startMs' | 'endMs'>)[] {
  const freeFrom = new Map<string | undefined, number>();
  return parts
    .map(({ voice, tokens, lines }) => {
      const startMs = Math.max(tokens[0]?.start ?? 0, freeFrom.get(voice) ?? 0);
      const spokenUntil = tokens.at(-1)?.end ?? 0;
      const endMs = Math.min(Math.max(spokenUntil, startMs + MIN_CUE_MS), startMs + MAX_CUE_MS);
      freeFrom.set(voice, endMs);
      return { startMs, endMs, voice, tokens, lines };
    })
    .toSorted((a, b) => a.startMs - b.startMs);
}

/** Tokens that fit into a line, in whole milliseconds; none ends after the next one starts. */
function piecesOf(tokens: readonly SentenceToken[]): SentenceToken[] {
  const pieces = tokens.flatMap(splitLong).map((token) => {
    const [start, end] = [Math.round(token.start * 1000), Math.round(token.end * 1000)];
    return { ...token, start, end };
  });
  pieces.forEach((piece, index) => {
    piece.end = Math.min(piece.end, pieces[index + 1]?.start ?? piece.end);
  });
  return pieces;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Cuts a token that is longer than a line between its characters, and shares its time. */
function splitLong(token: SentenceToken): SentenceToken[] {
  if (token.text.length <= MAX_LINE) return [token];
  const parts: string[] = [''];
  for (const character of charactersOf(token.text)) {
    const last = parts.length - 1;
    if ((parts[last] as string).length + character.length <= MAX_LINE) parts[last] += character;
    else parts.push(character);
  }
  const seconds = (token.end - token.start) / token.text.length;
  let at = 0;
  return parts.map((text, index) => {
    const start = token.start + at * seconds;
    at += text.length;
    const end = token.start + at * seconds;
    const endsSentence = token.endsSentence && index === parts.length - 1;
    const part = { ...token, text, end, endsSentence };
    return index === 0 ? part : { ...part, start, glued: true, newLine: false };
  });
}

/** User-perceived characters; one that is longer than a line, such as a pile of accents, by its code points. */
function* charactersOf(text: string): Generator<string> {
  // In pieces, because the segmenter's time for a long text grows faster than its length.
  for (const [piece] of text.matchAll(/.{1,1000}/gsu)) {
    for (const { segment } of graphemes.segment(piece)) {
      if (segment.length <= MAX_LINE) yield segment;
      else yield* segment;
    }
  }
}

/** The layout with the lowest total cost is chosen. Each cue has a cost, so that there are no more than needed. */
const COST = {
  cue: 20,
  cutAtClause: 15,
  cutAtNothing: 60,
  cutInWord: 40,
  pauseInside: 80,
  sentenceEndInside: 25,
  /** For each millisecond that a cue is shown longer than until the next one should start. */
  late: 0.5,
};

export interface LaidOutCue {
  tokens: SentenceToken[];
  lines: string[];
}

/** Chooses where cues begin: the cheapest of all ways to cut the text into cues that fit. Times in milliseconds. */
export class CueLayout {
  /** For each token, what it costs that a cue begins with it. */
  private readonly costOfCut: Float64Array;
  /** For each token, what it costs that the token before it is in the same cue. */
  private readonly costOfNoCut: Float64Array;

  constructor(
    private readonly tokens: readonly SentenceToken[],
    private readonly minMs = MIN_CUE_MS,
  ) {
    this.costOfCut = Float64Array.from(tokens, (_, index) => (index === 0 ? 0 : this.cutBefore(index)));
    this.costOfNoCut = Float64Array.from(tokens, (_, index) => (index === 0 ? 0 : this.noCutBefore(index)));
  }

  *cues(): Generator<LaidOutCue> {
    let first = 0;
    for (let next = 1; next <= this.tokens.length; next++) {
      if (next < this.tokens.length && this.pauseBefore(next) < LONG_PAUSE_MS) continue;
      for (const [from, to] of this.cutsOf(first, next)) {
        const tokens = this.tokens.slice(from, to);
        yield { tokens, lines: linesOf(tokens) };
      }
      first = next;
    }
  }

  /** The cues between two long pauses, as pairs of indexes. */
  private cutsOf(first: number, end: number): [number, number][] {
    const costs = new Float64Array(end - first + 1).fill(Infinity);
    const starts = new Int32Array(end - first + 1);
    costs[0] = 0;
    for (let from = first; from < end; from++) this.tryCuesFrom(from, { first, end, costs, starts });
    const cuts: [number, number][] = [];
    for (let to = end; to > first; to = starts[to - first] as number) cuts.push([starts[to - first] as number, to]);
    return cuts.toReversed();
  }

  /** Notes every cue that can begin here, if it is the cheapest that ends where it ends. */
  private tryCuesFrom(from: number, { first, end, costs, starts }: Search): void {
    const { start } = this.at(from);
    const fit = new LineFit();
    let cost = (costs[from - first] as number) + COST.cue;
    for (let to = from + 1; to <= end; to++) {
      const last = this.at(to - 1);
      if (!fit.add(last) || (to > from + 1 && last.end - start > MAX_CUE_MS)) return;
      const cut = to === end ? 0 : (this.costOfCut[to] as number);
      const late = Math.max(0, start + this.minMs - (this.tokens[to]?.start ?? Infinity)) * COST.late;
      if (cost + cut + late < (costs[to - first] as number)) {
        costs[to - first] = cost + cut + late;
        starts[to - first] = from;
      }
      cost += to === end ? 0 : (this.costOfNoCut[to] as number);
    }
  }

  private cutBefore(index: number): number {
    const { text, endsSentence } = this.at(index - 1);
    if (this.pauseBefore(index) >= PAUSE_MS || endsSentence) return 0;
    if (endsClause(text)) return COST.cutAtClause;
    return COST.cutAtNothing + (this.at(index).glued ? COST.cutInWord : 0);
  }

  private noCutBefore(index: number): number {
    const pause = this.pauseBefore(index) >= PAUSE_MS ? COST.pauseInside : 0;
    return pause + (this.at(index - 1).endsSentence ? COST.sentenceEndInside : 0);
  }

  private pauseBefore(index: number): number {
    return this.at(index).start - this.at(index - 1).end;
  }

  private at(index: number): SentenceToken {
    return this.tokens[index] as SentenceToken;
  }
}

interface Search {
  /** Indexes of the tokens between two long pauses; the last is not included. */
  first: number;
  end: number;
  /** For each end of a cue, counted from `first`, the least cost up to it, and where the cue begins. */
  costs: Float64Array;
  starts: Int32Array;
}

/** Whether tokens fit into the lines of a cue, when each line is filled before the next. */
class LineFit {
  private line = 1;
  private length = 0;

  add({ text, glued }: SentenceToken): boolean {
    const longer = this.length + text.length + (glued || this.length === 0 ? 0 : 1);
    if (longer <= MAX_LINE) {
      this.length = longer;
    } else {
      this.line += 1;
      this.length = text.length;
    }
    return this.line <= MAX_LINES && this.length <= MAX_LINE;
  }
}

/** One line where the text fits into one, else the two of which the lengths differ least, cut at punctuation if near. */
function linesOf(tokens: readonly SentenceToken[]): string[] {
  const whole = joinTokens(tokens);
  if (whole.length <= MAX_LINE) return [whole];
  let best = { upper: 0, lower: 0, cost: Infinity };
  let upper = 0;
  for (let cut = 1; cut < tokens.length; cut++) {
    const [last, next] = [tokens[cut - 1] as SentenceToken, tokens[cut] as SentenceToken];
    upper += last.text.length + (cut === 1 || last.glued ? 0 : 1);
    const lower = upper + (next.glued ? 0 : 1);
    if (upper > MAX_LINE || whole.length - lower > MAX_LINE) continue;
    const atPunctuation = endsClause(last.text) || last.endsSentence;
    const cost = Math.abs(whole.length - lower - upper) + (next.glued ? 6 : 0) - (atPunctuation ? 12 : 0);
    if (cost < best.cost) best = { upper, lower, cost };
  }
  return [whole.slice(0, best.upper), whole.slice(best.lower)];
}
