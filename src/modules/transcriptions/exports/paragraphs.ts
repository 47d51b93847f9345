import { timeTokens, type TimedToken } from '../alignment/time-tokens.js';
import { endsSentence, joinTokens, tokensOf } from '../alignment/tokens.js';
import type { ExportSource } from './cues.js';

/** A pause after which a new paragraph begins, wherever it stands. */
const LONG_PAUSE_SECONDS = 2;
/** A pause after which a new paragraph begins if a sentence has ended. */
const PAUSE_SECONDS = 1;
/** A paragraph of this many characters ends with its sentence: people who hardly pause are to be read as well. */
const LONG_PARAGRAPH = 800;

/** The text in paragraphs, with an empty line between them. */
export function paragraphsOf({ text, words, durationSeconds }: ExportSource): string {
  const paragraphs: TimedToken[][] = [];
  let length = 0;
  for (const token of timeTokens(tokensOf(text), words, durationSeconds)) {
    const paragraph = paragraphs.at(-1);
    if (paragraph && !isBreak(paragraph.at(-1) as TimedToken, token, length)) {
      paragraph.push(token);
      length += token.text.length + 1;
    } else {
      paragraphs.push([token]);
      length = token.text.length;
    }
  }
  return paragraphs.map(joinTokens).join('\n\n');
}

function isBreak(last: TimedToken, next: TimedToken, length: number): boolean {
  const pause = next.start - last.end;
  if (next.newLine || pause >= LONG_PAUSE_SECONDS) return true;
  return endsSentence(last.text) && (pause >= PAUSE_SECONDS || length >= LONG_PARAGRAPH);
}
