/** A word as the engine reports it: seconds from the start of the recording. */
export interface HeardWord {
  word: string;
  start: number;
  end: number;
  confidence: number | null;
  channel?: number;
  /** Its label, where speakers were asked for. */
  speaker?: string;
}

/** A word of the text as it is shown, with its punctuation. */
export interface TextWord {
  text: string;
  /** Where it begins in the text. */
  at: number;
  /** It follows the word before it without a space. */
  glued: boolean;
  /** A line feed stands before it. */
  newLine: boolean;
  start: number;
  end: number;
  /** Null for a word that the engine did not report. */
  confidence: number | null;
  channel: number | null;
  /** The label of who says it. */
  speaker: string | null;
}

/** How far behind the last match a word is looked for, in characters. */
const LOOKAHEAD = 80;

export const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/** The reported words of a transcription, which has them as JSON text. */
export function heardWords(words: string): HeardWord[] {
  try {
    const parsed: unknown = JSON.parse(words);
    return Array.isArray(parsed) ? (parsed as HeardWord[]) : [];
  } catch {
    return [];
  }
}

/** Whether any of the reported words says who speaks. */
export const hasSpeakers = (words: string): boolean => heardWords(words).some(({ speaker }) => speaker !== undefined);

/**
 * The words of a text, each with the time of the reported word that it matches, else one between those of its
 * neighbours. Without reported words they are distributed over the recording.
 * @param durationSeconds of the recording
 */
export function wordsOf(text: string, heard: readonly HeardWord[], durationSeconds: number): TextWord[] {
  const letters = lettersOf(heard);
  let at = 0;
  const words = tokensOf(text).map((token): TextWord => {
    const plain = plainOf(token.text);
    const found = plain === '' ? -1 : find(letters, plain, at);
    if (found < 0)
      return { ...token, start: Number.NaN, end: Number.NaN, confidence: null, channel: null, speaker: null };
    at = found + plain.length;
    const [from, to] = [letters.wordAt[found] as number, letters.wordAt[at - 1] as number];
    return { ...token, ...spanOf(heard, from, to) };
  });
  interpolate(words, durationSeconds);
  return words;
}

/**
 * The words of a corrected text, of which those are sure that a person has written in another way than the engine. The
 * service says so of other words only, and not of another case or punctuation.
 * @param heard the words of the engine's own text
 */
export function trustCorrections(words: readonly TextWord[], heard: readonly TextWord[]): TextWord[] {
  // The service rounds the times of corrections.
  const keyOf = ({ start, text }: TextWord) => `${start.toFixed(3)} ${text}`;
  const kept = new Set(heard.map(keyOf));
  return words.map((word) => (kept.has(keyOf(word)) ? word : { ...word, confidence: 1 }));
}

/** All letters and digits of the reported words in one row, and the word that each belongs to. */
interface Letters {
  text: string;
  wordAt: number[];
}

function lettersOf(heard: readonly HeardWord[]): Letters {
  const letters: Letters = { text: '', wordAt: [] };
  heard.forEach(({ word }, index) => {
    const plain = plainOf(word);
    letters.text += plain;
    for (let n = 0; n < plain.length; n += 1) letters.wordAt.push(index);
  });
  return letters;
}

/** Where the word stands: next, or a little further at the beginning of a reported word. */
function find({ text, wordAt }: Letters, plain: string, at: number): number {
  if (text.startsWith(plain, at)) return at;
  const near = text.slice(at, at + LOOKAHEAD);
  for (let found = near.indexOf(plain); found >= 0; found = near.indexOf(plain, found + 1)) {
    if (wordAt[at + found] !== wordAt[at + found - 1]) return at + found;
  }
  return -1;
}

function spanOf(heard: readonly HeardWord[], from: number, to: number) {
  const first = heard[from] as HeardWord;
  let { confidence } = first;
  for (let n = from + 1; n <= to; n += 1) {
    const { confidence: other } = heard[n] as HeardWord;
    if (other !== null) confidence = Math.min(confidence ?? other, other);
  }
  return {
    start: first.start,
    end: Math.max(first.start, (heard[to] as HeardWord).end),
    confidence,
    channel: first.channel ?? null,
    speaker: first.speaker ?? null,
  };
}

/** What is compared: letters and digits without case and punctuation. */
const plainOf = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '');

export type Token = Pick<TextWord, 'text' | 'at' | 'glued' | 'newLine'>;

/** Words with their punctuation; of scripts without spaces what the browser takes for words. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const { 0: chunk, index } of text.matchAll(/\S+/gu)) {
    const newLine = text.slice(end, index).includes('\n') && tokens.length > 0;
    end = index + chunk.length;
    if (UNSPACED.test(chunk)) tokens.push(...segmentsOf(chunk, index, newLine));
    else tokens.push({ text: chunk, at: index, glued: false, newLine });
  }
  return tokens;
}

function segmentsOf(chunk: string, at: number, newLine: boolean): Token[] {
  const tokens: Token[] = [];
  for (const { segment, index, isWordLike } of segmenter.segment(chunk)) {
    const last = tokens.at(-1);
    if (last && !isWordLike) last.text += segment;
    else
      tokens.push({ text: segment, at: at + index, glued: tokens.length > 0, newLine: newLine && tokens.length === 0 });
  }
  return tokens;
}

const NOBODY: Pick<TextWord, 'channel' | 'speaker'> = { channel: null, speaker: null };

/** Gives runs of words without a time the time between their neighbours, in equal parts. */
function interpolate(words: TextWord[], durationSeconds: number): void {
  let last: TextWord | null = null;
  for (let from = 0; from < words.length;) {
    const word = words[from] as TextWord;
    if (!Number.isNaN(word.start)) {
      last = word;
      from += 1;
      continue;
    }
    let to = from;
    while (to < words.length && Number.isNaN((words[to] as TextWord).start)) to += 1;
    const begin: number = last?.end ?? 0;
    const end = Math.max(begin, words[to]?.start ?? durationSeconds);
    const { channel, speaker } = last ?? words[to] ?? NOBODY;
    for (let n = from; n < to; n += 1) {
      const share = (end - begin) / (to - from);
      Object.assign(words[n] as TextWord, {
        start: begin + share * (n - from),
        end: begin + share * (n - from + 1),
        channel,
        speaker,
      });
    }
    from = to;
  }
}
