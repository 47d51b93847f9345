import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Recording } from '../recording.entity.js';
import { tokensOf, type Token } from './folding.js';

/** What is searched of a recording beside its text. */
export type TaggedRecording = Pick<Recording, 'id' | 'accountId' | 'userId' | 'customTags' | 'title' | 'speakerNames'>;

/** Longer terms are replaced by their hash; Postgres takes 2046 bytes. */
export const MAX_TERM_LENGTH = 64;
/** Frequent words are short in every language: of two such neighbours the pair is a term too, so that a phrase of them is rare. */
const MAX_PAIR_WORD_LENGTH = 4;
/** Postgres takes 1,048,575 bytes of terms and positions. What comes after this much of a text is not searched. */
const MAX_VECTOR_BYTES = 900_000;
/** Limits of a `tsvector`. Only the rank needs positions. */
const MAX_POSITION = 16_383;
const MAX_POSITIONS = 255;

/**
 * The terms of an account. Each begins with a mark of the account, so that the index keeps the terms of accounts apart.
 * Words are letters and digits only; other kinds of terms have another character in them.
 */
export class AccountTerms {
  private readonly mark: string;

  constructor(accountId: string) {
    // The end of a UUIDv7 is random. Two accounts with one mark would only share entries: rows are compared by account.
    this.mark = Buffer.from(accountId.slice(-10), 'hex').toString('base64').slice(0, 6);
  }

  /** A word, or one or two characters of a run. */
  word(text: string): string {
    return this.mark + bounded(text);
  }

  pair(first: string, second: string): string {
    return `${this.mark}${first} ${second}`;
  }

  tag(key: string, value: string): string {
    return `${this.mark}=${bounded(`${key}=${value}`)}`;
  }

  user(userId: string): string {
    return `${this.mark}@${bounded(userId)}`;
  }

  /** Stands in every document with a text. */
  get transcribed(): string {
    return `${this.mark}*`;
  }

  /** Stands in every document with a text and the words of its labels, which earlier releases did not index. */
  get labelled(): string {
    return `${this.mark}+`;
  }
}

/** A text that looks like a hash is hashed as well, so that it equals none. */
const bounded = (text: string): string =>
  text.length > MAX_TERM_LENGTH || text.startsWith('#') ? `#${hash('sha256', text, 'base64')}` : text;

export const isPair = (first: Token, second: Token): boolean =>
  !first.isRun &&
  !second.isRun &&
  first.text.length <= MAX_PAIR_WORD_LENGTH &&
  second.text.length <= MAX_PAIR_WORD_LENGTH;

/** Every character of a run, and every two neighbours. */
export function gramsOf(run: string): { characters: string[]; neighbours: string[] } {
  const characters = [...run];
  return { characters, neighbours: characters.slice(1).map((character, i) => `${characters[i]}${character}`) };
}

/** A `tsvector` in the making: its terms, and where they stand. */
class TermVector {
  private readonly positions = new Map<string, string[]>();
  private bytes = 0;

  get isFull(): boolean {
    return this.bytes > MAX_VECTOR_BYTES;
  }

  /** @param weight `A`: more than others for the rank */
  add(term: string, position?: number, weight: 'A' | '' = ''): void {
    let known = this.positions.get(term);
    if (!known) {
      // A single run of a script without spaces can be as long as a text.
      if (this.isFull) return;
      known = [];
      this.positions.set(term, known);
      this.bytes += Buffer.byteLength(term) + 4;
    }
    if (position === undefined || position > MAX_POSITION || known.length >= MAX_POSITIONS) return;
    known.push(`${position}${weight}`);
    this.bytes += 2;
  }

  toString(): string {
    const terms: string[] = [];
    for (const [term, positions] of this.positions) {
      terms.push(positions.length > 0 ? `${quoted(term)}:${positions.join(',')}` : quoted(term));
    }
    return terms.join(' ');
  }
}

/** As a `tsvector` or `tsquery` writes a term. */
export const quoted = (term: string): string => `'${term.replaceAll(/['\\]/g, '$&$&')}'`;

/** The terms of a recording without its text. Null when it has no tags: such a document is not needed yet. */
export function tagTerms(recording: TaggedRecording): string | null {
  const vector = new TermVector();
  return addTags(vector, recording) > 0 ? vector.toString() : null;
}

/** Positions that one turn of the event loop works on: the longest texts take 80 ms. */
const TURN_POSITIONS = 5000;

/** Between the tokens of two texts, so that no phrase reaches from one into the other. */
const BOUNDARY = '|';

/** @returns the terms of a recording with its text and labels, and its tokens as `phrasePattern` finds them. */
export async function textTerms(recording: TaggedRecording, text: string): Promise<{ terms: string; folded: string }> {
  const own = new AccountTerms(recording.accountId);
  const vector = new TermVector();
  addTags(vector, recording);
  vector.add(own.transcribed);
  const words = new WordTerms(own, vector);
  const labels = labelsOf(recording);
  if (labels.length > 0) vector.add(own.labelled);
  for (const label of labels) await words.add(label, 'A');
  await words.add(text);
  return { terms: vector.toString(), folded: words.folded };
}

/** The words of several texts of one recording. */
class WordTerms {
  private readonly tokens: string[] = [];
  private position = 0;

  constructor(
    private readonly own: AccountTerms,
    private readonly vector: TermVector,
  ) {}

  get folded(): string {
    return ` ${this.tokens.join(' ')} `;
  }

  async add(text: string, weight: 'A' | '' = ''): Promise<void> {
    const { own, vector } = this;
    let before: Token | undefined;
    for (const token of tokensOf(text)) {
      if (vector.isFull) break;
      if (!before && this.tokens.length > 0) this.tokens.push(BOUNDARY);
      this.tokens.push(token.text);
      if (token.isRun) {
        await this.addRun(token.text, weight);
      } else {
        vector.add(own.word(token.text), ++this.position, weight);
        if (this.endsTurn) await nextTurn();
        if (before && isPair(before, token)) vector.add(own.pair(before.text, token.text));
      }
      before = token;
    }
  }

  /** As `gramsOf`, one by one: a run can be as long as a text. */
  private async addRun(run: string, weight: 'A' | ''): Promise<void> {
    const { own, vector } = this;
    let before: string | undefined;
    for (const character of run) {
      if (before !== undefined) vector.add(own.word(before + character), this.position, weight);
      vector.add(own.word(character), ++this.position, weight);
      if (this.endsTurn) await nextTurn();
      before = character;
    }
  }

  private get endsTurn(): boolean {
    return this.position % TURN_POSITIONS === 0;
  }
}

const tagsOf = ({ customTags }: Pick<TaggedRecording, 'customTags'>): [string, string][] =>
  customTags === null ? [] : Object.entries(JSON.parse(customTags) as Record<string, string>);

/** The texts that are searched beside the transcription: the title, the values of the tags, and the names of speakers. */
export function labelsOf(recording: Pick<TaggedRecording, 'customTags' | 'title' | 'speakerNames'>): string[] {
  const values = tagsOf(recording).map(([, value]) => value);
  const names = Object.values(recording.speakerNames ?? {});
  return [...(recording.title === null ? [] : [recording.title]), ...values, ...new Set(names)];
}

/** @returns how many tags there are. */
function addTags(vector: TermVector, { accountId, userId, customTags }: TaggedRecording): number {
  const own = new AccountTerms(accountId);
  const tags = tagsOf({ customTags });
  for (const [key, value] of tags) vector.add(own.tag(key, value));
  if (userId !== null) vector.add(own.user(userId));
  return tags.length;
}
