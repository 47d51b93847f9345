import { timeTokens } from '../alignment/time-tokens.js';
import { joinTokens, tokensOf } from '../alignment/tokens.js';
import { channelName, turnsOf } from '../channels/token-channels.js';
import { groupParagraphs } from '../sentences/paragraphs.js';
import { markSentenceEnds } from '../sentences/sentence-ends.js';
import type { ExportSource } from './cues.js';

/** The text in paragraphs, with an empty line between them. Each turn of a channel begins one with its name. */
export function paragraphsOf({ text, words, durationSeconds }: ExportSource): string {
  const tokens = markSentenceEnds(timeTokens(tokensOf(text), words, durationSeconds));
  const paragraphs = turnsOf(tokens, words).flatMap((turn) => {
    const [first = '', ...others] = groupParagraphs(turn.tokens).map(joinTokens);
    return [turn.channel === undefined ? first : `${channelName(turn.channel)}: ${first}`, ...others];
  });
  return paragraphs.join('\n\n');
}
