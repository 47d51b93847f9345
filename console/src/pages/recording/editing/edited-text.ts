import { computed, signal } from '@preact/signals';

import type { Block } from '../text/blocks';
import { lastAtMost } from '../text/find';
import { isUnsure } from '../text/unsure';
import { type TextWord, type Token, tokensOf, UNSPACED } from '../text/words';

/** A paragraph while it is edited: its text as it was typed, blanks included. */
export type Paragraph = Omit<Block, 'first'>;

/** A character of the text. */
export interface Place {
  paragraph: number;
  offset: number;
}

export interface Span {
  from: Place;
  to: Place;
}

/** Paragraphs in the place of others. */
export interface Replacement {
  first: number;
  removed: number;
  added: number;
}

/** Undone as one: paragraphs in the place of others, and where the caret was before and after. */
interface Change {
  first: number;
  before: Paragraph[];
  after: Paragraph[];
  caretBefore: Span;
  caretAfter: Place;
  at: number;
}

/** What is typed without a longer pause is undone as one. */
const PAUSE_MS = 1000;
const MOST_CHANGES = 1000;
/** The characters around a break that is removed: words on both sides of it, in scripts that have spaces. */
const NEEDS_SPACE = new RegExp(`^(?!${UNSPACED.source})\\S\\n(?!${UNSPACED.source})\\S`, 'u');

/**
 * A transcript while a person corrects it. Words that are left as they are keep their times; one that is changed has the
 * time of the word that it replaces, and those that are added share the time between their neighbours.
 */
export class EditedText {
  /** Draws what has come in the place of other paragraphs, and the caret; set by the view. */
  draw: (replacement: Replacement, caret: Span) => void = () => undefined;
  /** Selects the next unsure word, or the one before. @returns whether there is one; set by the view */
  goToUnsure: (step: 1 | -1, isRound: boolean) => boolean = () => false;
  readonly unsureCount = computed(() => {
    void this.changes.value;
    return this.paragraphs.reduce((sum, { words }) => sum + words.filter(isUnsure).length, 0);
  });
  readonly canUndo = signal(false);
  readonly canRedo = signal(false);
  private readonly changes = signal(0);
  private readonly done: Change[] = [];
  private readonly undone: Change[] = [];
  private readonly isCall: boolean;

  constructor(
    readonly paragraphs: Paragraph[],
    /** Told of each change. */
    private readonly onChange: () => void = () => undefined,
  ) {
    if (paragraphs.length === 0) paragraphs.push(paragraphOf(NOBODY, '', []));
    this.isCall = paragraphs.some(({ channel }) => channel !== null);
  }

  /** With an empty line between paragraphs, in the order in which the service has the words. */
  get text(): string {
    if (!this.isCall) return this.paragraphs.map(tidy).filter(Boolean).join('\n\n');
    const words = this.paragraphs.flatMap(({ words: own, beginsTurn }) =>
      own.map((word, index) => ({ word, isBreak: index === 0 && !beginsTurn })),
    );
    // The sides of a call take turns in it, word by word.
    const inOrder = words.toSorted((one, other) => one.word.at - other.word.at);
    return inOrder
      .map(({ word, isBreak }, index) => {
        if (index === 0) return word.text;
        return `${isBreak ? '\n\n' : word.glued ? '' : ' '}${word.text}`;
      })
      .join('');
  }

  /** @param insert line feeds in it begin paragraphs */
  replace(span: Span, insert: string, now = Date.now()): void {
    const { from, to } = span;
    const [head, tail] = [this.paragraphAt(from), this.paragraphAt(to)];
    const [before, rest] = [head.text.slice(0, from.offset), tail.text.slice(to.offset)];
    const old = this.paragraphs.slice(from.paragraph, to.paragraph + 1);
    const isJoined = isOneSide(old);
    const isSpaced =
      isJoined && insert === '' && isBreak(span, head) && NEEDS_SPACE.test(`${before.at(-1)}\n${rest[0]}`);
    const lines = linesOf(isSpaced ? ' ' : insert);
    const last = lines.length - 1;
    const texts = lines.map(
      (line, index) => `${index === 0 ? before : ''}${line}${isJoined && index === last ? rest : ''}`,
    );
    if (last > 0) {
      texts[0] = (texts[0] as string).trimEnd();
      texts[last] = (texts[last] as string).trimStart();
    }
    const added = paragraphsOf(texts, head, old, isJoined ? old.length : old.length - 1);
    const kept = isJoined ? [] : paragraphsOf([rest.trimStart()], tail, [tail], 1).filter(({ text }) => text !== '');
    const tailLength = isJoined ? Math.min(rest.length, (texts[last] as string).length) : 0;
    const caret = { paragraph: from.paragraph + last, offset: (texts[last] as string).length - tailLength };
    const after = [...added, ...kept];
    this.splice({ first: from.paragraph, removed: old.length, added: after.length }, after, { from: caret, to: caret });
    this.note({ first: from.paragraph, before: old, after, caretBefore: span, caretAfter: caret, at: now });
  }

  /** What was typed in a paragraph, where it is shown already. @param caret offset in it */
  type(paragraph: number, text: string, caretBefore: Span, caret: number, now = Date.now()): void {
    const old = this.paragraphs[paragraph] as Paragraph;
    if (old.text === text) return;
    const after = paragraphsOf([text], old, [old], 1);
    this.paragraphs.splice(paragraph, 1, ...after);
    this.note({
      first: paragraph,
      before: [old],
      after,
      caretBefore,
      caretAfter: { paragraph, offset: caret },
      at: now,
    });
  }

  undo(): void {
    const change = this.done.pop();
    if (!change) return;
    const { first, before, after, caretBefore } = change;
    this.undone.push(change);
    this.splice({ first, removed: after.length, added: before.length }, before, caretBefore);
    this.tell();
  }

  redo(): void {
    const change = this.undone.pop();
    if (!change) return;
    const { first, before, after, caretAfter } = change;
    this.done.push(change);
    this.splice({ first, removed: before.length, added: after.length }, after, { from: caretAfter, to: caretAfter });
    this.tell();
  }

  /** The word at the place, or before it. */
  wordAt({ paragraph, offset }: Place): TextWord | undefined {
    const { words, offsets } = this.paragraphs[paragraph] as Paragraph;
    return words[lastAtMost(offsets, offset)];
  }

  timeAt(place: Place): number {
    return this.wordAt(place)?.start ?? (this.paragraphs[place.paragraph] as Paragraph).start;
  }

  /** The characters of a word. */
  spanOf(paragraph: number, word: number): Span {
    const { words, offsets } = this.paragraphs[paragraph] as Paragraph;
    const offset = offsets[word] as number;
    return { from: { paragraph, offset }, to: { paragraph, offset: offset + (words[word] as TextWord).text.length } };
  }

  /** The characters of the word that is spoken at a time, else of the first one. */
  placeOf(time: number): Span | null {
    const spoken = this.spokenAt(time);
    if (spoken) return this.spanOf(spoken.paragraph, spoken.word);
    return this.paragraphs[0]?.words.length ? this.spanOf(0, 0) : null;
  }

  /**
   * The word that is spoken at a time: the latest that has begun. The sides of a call are not in the order of their times.
   * @returns also when the next one begins; null before the first
   */
  spokenAt(time: number): { paragraph: number; word: number; start: number; until: number } | null {
    let spoken: { paragraph: number; word: number; start: number } | null = null;
    let until = Infinity;
    for (const [paragraph, { words }] of this.paragraphs.entries()) {
      const word = lastBegun(words, time);
      const start = words[word]?.start ?? -1;
      if (start >= (spoken?.start ?? 0)) spoken = { paragraph, word, start };
      until = Math.min(until, words[word + 1]?.start ?? Infinity);
    }
    return spoken && { ...spoken, until };
  }

  /** @returns the next unsure word after the place, or the last one before it; null if there is none in that direction */
  nextUnsure({ paragraph, offset }: Place, step: 1 | -1): Span | null {
    for (let at = paragraph; at >= 0 && at < this.paragraphs.length; at += step) {
      const { words, offsets } = this.paragraphs[at] as Paragraph;
      const isBeyond = (index: number) => at !== paragraph || (offsets[index] as number) * step > offset * step;
      const isNext = (word: TextWord, index: number) => isUnsure(word) && isBeyond(index);
      const found = step > 0 ? words.findIndex(isNext) : words.findLastIndex(isNext);
      if (found >= 0) return this.spanOf(at, found);
    }
    return null;
  }

  private paragraphAt({ paragraph }: Place): Paragraph {
    return this.paragraphs[paragraph] as Paragraph;
  }

  private splice(replacement: Replacement, paragraphs: Paragraph[], caret: Span): void {
    this.paragraphs.splice(replacement.first, replacement.removed, ...paragraphs);
    this.draw(replacement, caret);
  }

  private note(change: Change): void {
    const last = this.done.at(-1);
    if (last && this.undone.length === 0 && goesOn(last, change)) {
      Object.assign(last, { after: change.after, caretAfter: change.caretAfter, at: change.at });
    } else {
      this.done.push(change);
      if (this.done.length > MOST_CHANGES) this.done.shift();
    }
    this.undone.length = 0;
    this.tell();
  }

  private tell(): void {
    this.canUndo.value = this.done.length > 0;
    this.canRedo.value = this.undone.length > 0;
    this.changes.value += 1;
    this.onChange();
  }
}

const NOBODY: Pick<Paragraph, 'channel' | 'speaker' | 'beginsTurn' | 'start'> = {
  channel: null,
  speaker: null,
  beginsTurn: false,
  start: 0,
};

/** Typing in one paragraph, where the caret was left, in the same direction. */
function goesOn(last: Change, next: Change): boolean {
  const isTyping = [last, next].every(({ before, after }) => before.length === 1 && after.length === 1);
  const { from, to } = next.caretBefore;
  const isSame = last.first === next.first && from.offset === to.offset && from.offset === last.caretAfter.offset;
  return isTyping && isSame && next.at - last.at < PAUSE_MS && adds(last) === adds(next);
}

/** Whether something is typed, also in the place of what was selected. */
const adds = ({ caretBefore: { from }, caretAfter }: Change): boolean => caretAfter.offset > from.offset;

/** Without the empty ones between them. */
const linesOf = (text: string): string[] =>
  text.split('\n').filter((line, index, all) => index === 0 || index === all.length - 1 || line.trim() !== '');

/** Whether all of the break between two paragraphs is in it, so that words of both would run into one. */
const isBreak = ({ from, to }: Span, head: Paragraph): boolean =>
  from.paragraph !== to.paragraph && (to.offset === 0 || from.offset === head.text.length);

/** Whether the first and the last of them may become one paragraph. */
function isOneSide(paragraphs: readonly Paragraph[]): boolean {
  const [first, last] = [paragraphs[0], paragraphs.at(-1)];
  const isOneTurn = !paragraphs.slice(1).some(({ beginsTurn }) => beginsTurn);
  return isOneTurn || (first?.channel === last?.channel && first?.speaker === last?.speaker);
}

const tidy = ({ text }: Paragraph): string => text.trim().replace(/\s+/gu, ' ');

/**
 * Paragraphs with these texts.
 * @param like the first of them is of the same speaker, and begins a turn if this one does
 * @param old those that they replace
 * @param count how many of them have words that may be kept
 */
function paragraphsOf(texts: string[], like: Paragraph, old: Paragraph[], count: number): Paragraph[] {
  const tokens = texts.map(tokensOf);
  const words = retimed(
    tokens.flat(),
    old.slice(0, Math.max(1, count)).flatMap((paragraph) => paragraph.words),
  );
  let used = 0;
  return texts.map((text, index) => {
    const own = tokens[index] as Token[];
    const its = words.slice(used, used + own.length);
    used += own.length;
    const side = { channel: like.channel, speaker: like.speaker, beginsTurn: like.beginsTurn && index === 0 };
    const start = its[0]?.start ?? words[used - 1]?.start ?? like.start;
    return paragraphOf({ ...side, start }, text, its, own);
  });
}

function paragraphOf(
  side: Pick<Paragraph, 'channel' | 'speaker' | 'beginsTurn' | 'start'>,
  text: string,
  words: TextWord[],
  tokens: Token[] = [],
): Paragraph {
  return { ...side, text, words, offsets: tokens.map(({ at }) => at) };
}

/** The words of changed text: those before and after the change are kept. */
function retimed(tokens: readonly Token[], old: readonly TextWord[]): TextWord[] {
  const shorter = Math.min(tokens.length, old.length);
  let [before, after] = [0, 0];
  while (before < shorter && tokens[before]?.text === old[before]?.text) before += 1;
  while (after < shorter - before && tokens.at(-1 - after)?.text === old.at(-1 - after)?.text) after += 1;
  const kept = (word: TextWord, token: Token): TextWord =>
    word.glued === token.glued ? word : { ...word, glued: token.glued };
  const head = old.slice(0, before).map((word, index) => kept(word, tokens[index] as Token));
  const tail = old
    .slice(old.length - after)
    .map((word, index) => kept(word, tokens[tokens.length - after + index] as Token));
  const removed = old.slice(before, old.length - after);
  const added = tokens.slice(before, tokens.length - after);
  return [...head, ...wordsFor(added, removed, head.at(-1), tail[0]), ...tail];
}

/** New words in the place of others. A person is sure of what they wrote. */
function wordsFor(
  added: readonly Token[],
  removed: readonly TextWord[],
  previous: TextWord | undefined,
  next: TextWord | undefined,
): TextWord[] {
  const like = removed[0] ?? previous ?? next;
  const from = removed[0]?.start ?? previous?.end ?? next?.start ?? 0;
  const to = Math.max(from, removed.at(-1)?.end ?? next?.start ?? previous?.end ?? 0);
  const letters = added.reduce((sum, { text }) => sum + text.length, 0);
  let passed = 0;
  return added.map(({ text, glued }, index): TextWord => {
    const instead = added.length === removed.length ? (removed[index] as TextWord) : null;
    if (instead) return { ...instead, text, glued, confidence: text === instead.text ? instead.confidence : 1 };
    const start = from + ((to - from) * passed) / letters;
    passed += text.length;
    const end = from + ((to - from) * passed) / letters;
    const { at = 0, channel = null, speaker = null } = like ?? {};
    return { text, glued, newLine: false, at, start, end, confidence: 1, channel, speaker };
  });
}

/** @returns -1 if none has begun */
function lastBegun(words: readonly TextWord[], time: number): number {
  let [low, high] = [-1, words.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((words[middle] as TextWord).start <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}
