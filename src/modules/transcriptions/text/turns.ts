import type { TimedToken } from './time-tokens.js';

/** A word, and its channel if each was transcribed on its own. */
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

/** A pause of this length ends a turn, if somebody speaks on another channel meanwhile. */
const TURN_PAUSE_SECONDS = 1;

/** What is said on one channel before another one has its turn. */
export interface Turn<Token extends TimedToken> {
  channel: number | undefined;
  tokens: Token[];
}

/**
 * The turns of a conversation by their start. Where both sides speak at once, their turns overlap; a turn is not cut by a
 * word of the other side. Without channels it is one turn.
 */
export function turnsOf<Token extends TimedToken>(
  tokens: readonly Token[],
  words: readonly ChannelWord[],
): Turn<Token>[] {
  const channels = channelsOf(tokens, words);
  const turns: Turn<Token>[] = [];
  tokens.forEach((token, index) => {
    const channel = channels[index];
    const present = turns.findLast((turn) => turn.channel === channel);
    const pause = token.start - (present?.tokens.at(-1)?.end ?? -Infinity);
    if (present && (present === turns.at(-1) || pause < TURN_PAUSE_SECONDS)) present.tokens.push(token);
    else turns.push({ channel, tokens: [token] });
  });
  return turns;
}

/** The name of a channel in subtitles and paragraphs. */
export const channelName = (channel: number): string => `Channel ${channel}`;
