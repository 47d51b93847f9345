import type { SentenceToken } from './sentence-ends.js';

/** A pause after which a new paragraph begins, wherever it stands. */
const LONG_PAUSE_SECONDS = 2;
/** A pause after which a new paragraph begins if a sentence has ended. */
const PAUSE_SECONDS = 1;
/** A paragraph of this many characters ends with its sentence: people who hardly pause are to be read as well. */
const LONG_PARAGRAPH = 800;

/** Groups sentences into paragraphs: at line feeds, at long pauses, and after much text. */
export function groupParagraphs(tokens: readonly SentenceToken[]): SentenceToken[][] {
  const paragraphs: SentenceToken[][] = [];
  let length = 0;
  for (const token of tokens) {
    const paragraph = paragraphs.at(-1);
    if (paragraph && !isBreak(paragraph.at(-1) as SentenceToken, token, length)) {
      paragraph.push(token);
      length += token.text.length + 1;
    } else {
      paragraphs.push([token]);
      length = token.text.length;
    }
  }
  return paragraphs;
}

function isBreak(last: SentenceToken, next: SentenceToken, length: number): boolean {
  const pause = next.start - last.end;
  if (next.newLine || pause >= LONG_PAUSE_SECONDS) return true;
  return last.endsSentence && (pause >= PAUSE_SECONDS || length >= LONG_PARAGRAPH);
}
