import type { TimedToken } from '../alignment/time-tokens.js';

/** A word, and which channel it was heard on, if each was transcribed on its own. */
export interface ChannelWord {
  channel?: number;
}

/**
 * The channel of each token: that of its word; of a token that is no word of the engine that of the one before it, else
 * of the one after it. Undefined when the words have no channels.
 */
export function channelsOf(tokens: readonly TimedToken[], words: readonly ChannelWord[]): (number | undefined)[] {
  const known = tokens.map((token) => words[token.words[0] ?? -1]?.channel);
  let last = known.find((channel) => channel !== undefined);
  return known.map((channel) => (last = channel ?? last));
}

/** Tokens in a row of one channel. */
export interface ChannelRun<Token extends TimedToken> {
  channel: number | undefined;
  tokens: Token[];
}

export function channelRuns<Token extends TimedToken>(
  tokens: readonly Token[],
  words: readonly ChannelWord[],
): ChannelRun<Token>[] {
  const channels = channelsOf(tokens, words);
  const runs: ChannelRun<Token>[] = [];
  tokens.forEach((token, index) => {
    const channel = channels[index];
    const last = runs.at(-1);
    if (last && last.channel === channel) last.tokens.push(token);
    else runs.push({ channel, tokens: [token] });
  });
  return runs;
}

/** How subtitles and paragraphs call a channel. */
export const channelName = (channel: number): string => `Channel ${channel}`;
