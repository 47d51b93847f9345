import { timeTokens } from '../alignment/time-tokens.js';
import { joinTokens, tokensOf } from '../alignment/tokens.js';
import { groupParagraphs } from '../sentences/paragraphs.js';
import { markSentenceEnds } from '../sentences/sentence-ends.js';
import type { ExportSource } from './cues.js';

/** The text in paragraphs, with an empty line between them. */
export function paragraphsOf({ text, words, durationSeconds }: ExportSource): string {
  const tokens = markSentenceEnds(timeTokens(tokensOf(text), words, durationSeconds));
  return groupParagraphs(tokens).map(joinTokens).join('\n\n');
}
