import { timeTokens } from '../alignment/time-tokens.js';
import { joinTokens, tokensOf } from '../alignment/tokens.js';
import { channelName, channelRuns } from '../channels/token-channels.js';
import { groupParagraphs } from '../sentences/paragraphs.js';
import { markSentenceEnds } from '../sentences/sentence-ends.js';
import type { ExportSource } from './cues.js';

/** The text in paragraphs, with an empty line between them. Each channel begins one with its name. */
export function paragraphsOf({ text, words, durationSeconds }: ExportSource): string {
  const tokens = markSentenceEnds(timeTokens(tokensOf(text), words, durationSeconds));
  const paragraphs = channelRuns(tokens, words).flatMap((run) => {
    const [first = '', ...others] = groupParagraphs(run.tokens).map(joinTokens);
    return [run.channel === undefined ? first : `${channelName(run.channel)}: ${first}`, ...others];
  });
  return paragraphs.join('\n\n');
}
