import { meanConfidence } from '../speech/invented-words.js';
import { alignOverlap, type HeardUnit } from '../text/align-overlap.js';
import { timeTokens } from '../text/time-tokens.js';
import { HAS_UNSPACED, tokensOf, unitsOf, unitStarts } from '../text/tokens.js';
import type { TranscribedChunk } from './join-transcripts.js';

/** Rounding of times. */
const TOLERANCE_SECONDS = 0.005;

/**
 * Takes the transcripts of a recording's chunks in order. What two chunks have both heard stays in one of them, so that no
 * word is lost or doubled when they are joined (D89). Chunks that do not overlap pass as they are.
 */
export class SeamJoiner {
  private held: TranscribedChunk | null = null;

  /** @returns the chunks that are final now */
  add(chunk: TranscribedChunk): TranscribedChunk[] {
    const [before, after] = this.held ? joinSeam(this.held, chunk) : [null, chunk];
    this.held = after.continues ? after : null;
    return [...(before ? [before] : []), ...(this.held ? [] : [after])];
  }

  /** @returns the chunk that waits for another, if there is one */
  end(): TranscribedChunk[] {
    const left = this.held ? [this.held] : [];
    this.held = null;
    return left;
  }
}

/** Each of the two chunks gets half of the time that they share, and what of the text they have in common stays in one. */
export function joinSeam(before: TranscribedChunk, after: TranscribedChunk): [TranscribedChunk, TranscribedChunk] {
  const end = before.start + before.seconds;
  const shared = end - after.start;
  if (shared <= TOLERANCE_SECONDS) return [before, after];
  const [left, right] = [unitsOfChunk(before), unitsOfChunk(after)];
  const isTimed = before.transcript.words.length > 0 && after.transcript.words.length > 0;
  const seam = alignOverlap(left, right, { start: after.start, end, isTimed });
  const middle = after.start + shared / 2;
  const { continues: _, ...first } = before;
  return [
    rest(first, left, { from: 0, to: seam.left }, { start: before.start, end: middle }),
    rest(after, right, { from: seam.right, to: right.length }, { start: middle, end: after.start + after.seconds }),
  ];
}

/** A unit of the text with the place of it, and of its words. */
interface Unit extends HeardUnit {
  /** Where it begins in the text. */
  from: number;
  /** Indexes of its words; none if the engine reports none. */
  words: readonly number[];
}

/** Words; in a script without spaces characters, because two chunks may be divided into other words. */
function unitsOfChunk({ start, seconds, transcript: { text, words } }: TranscribedChunk): Unit[] {
  const units: Unit[] = [];
  let position = 0;
  for (const token of timeTokens(tokensOf(text), words, seconds)) {
    const from = text.indexOf(token.text, position);
    position = from + token.text.length;
    const pieces = piecesOf(token.text);
    const length = (token.end - token.start) / pieces.length;
    pieces.forEach((piece, index) => {
      const pieceStart = start + token.start + index * length;
      units.push({
        text: unitsOf(piece.text).join(''),
        start: pieceStart,
        end: pieceStart + length,
        endsToken: index === pieces.length - 1,
        from: from + piece.from,
        words: pieces.length === token.words.length ? [token.words[index] as number] : token.words,
      });
    });
  }
  return units;
}

/** The characters of a token of a script without spaces, with the punctuation after them; else the token. */
function piecesOf(token: string): { text: string; from: number }[] {
  if (!HAS_UNSPACED.test(token)) return [{ text: token, from: 0 }];
  const starts = unitStarts(token);
  return starts.map((start, index) => {
    const from = index === 0 ? 0 : start;
    return { text: token.slice(from, starts[index + 1]), from };
  });
}

/** What is left of a chunk. */
function rest(
  chunk: TranscribedChunk,
  units: readonly Unit[],
  { from, to }: { from: number; to: number },
  { start, end }: { start: number; end: number },
): TranscribedChunk {
  const { transcript } = chunk;
  const by = chunk.start - start;
  const first = wordsBefore(transcript, units, from, chunk.start);
  const last = wordsBefore(transcript, units, to, chunk.start);
  const words = transcript.words.slice(first, last);
  const isWhole = from === 0 && to === units.length;
  return {
    ...chunk,
    start,
    seconds: end - start,
    transcript: {
      ...transcript,
      text: isWhole ? transcript.text : transcript.text.slice(units[from]?.from ?? Infinity, units[to]?.from).trim(),
      confidence: isWhole ? transcript.confidence : (meanConfidence(words) ?? transcript.confidence),
      words: words.map((word) => ({ ...word, start: word.start + by, end: word.end + by })),
    },
  };
}

/** How many words belong before a unit: those of the units before, and what of the others was said before it. */
function wordsBefore(
  { words }: TranscribedChunk['transcript'],
  units: readonly Unit[],
  index: number,
  chunkStart: number,
): number {
  const unit = units[index];
  if (index === 0) return 0;
  if (!unit) return words.length;
  let count = Math.max(-1, ...units.slice(0, index).flatMap((before) => before.words)) + 1;
  const next = Math.min(words.length, ...units.slice(index).flatMap((after) => after.words));
  while (count < next && chunkStart + (words[count]?.start ?? Infinity) < unit.start) count++;
  return count;
}
