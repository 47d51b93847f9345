import type { TimedToken } from './time-tokens.js';

/** A word, with its channel if each was transcribed on its own, and the label of its speaker if they were told apart. */
export interface VoicedWord {
  channel?: number;
  speaker?: string;
}

/** Names of speakers by their labels; null without any. */
export type SpeakerNames = Readonly<Record<string, string>> | null;

/** Labels of speakers: `A` to `Z`, `AA` and so on. */
export const SPEAKER_LABEL = /^[A-Z]{1,2}$/;

/** Who speaks, as it is shown: a speaker's name or else label, else the channel. Two labels with one name are one person. */
export function voiceOf({ speaker, channel }: VoicedWord, names: SpeakerNames): string | undefined {
  if (speaker !== undefined) return names?.[speaker] ?? speaker;
  return channel === undefined ? undefined : `Channel ${channel}`;
}

/**
 * What each token has of its word; of a token that is no word of the engine that of the one before it, else of the one
 * after it. Undefined when no word has it.
 */
function inherited<Value>(
  tokens: readonly TimedToken[],
  words: readonly VoicedWord[],
  read: (word: VoicedWord) => Value | undefined,
): (Value | undefined)[] {
  const known = tokens.map((token) => {
    const word = words[token.words[0] ?? -1];
    return word && read(word);
  });
  let last = known.find((value) => value !== undefined);
  return known.map((value) => (last = value ?? last));
}

export const channelsOf = (tokens: readonly TimedToken[], words: readonly VoicedWord[]): (number | undefined)[] =>
  inherited(tokens, words, ({ channel }) => channel);

export const speakersOf = (tokens: readonly TimedToken[], words: readonly VoicedWord[]): (string | undefined)[] =>
  inherited(tokens, words, ({ speaker }) => speaker);

/** A pause of this length ends a turn, if somebody speaks on another channel meanwhile. */
const TURN_PAUSE_SECONDS = 1;

/** What one person says before another one has their turn. */
export interface Turn<Token extends TimedToken> {
  /** Who speaks, as it is shown. */
  voice: string | undefined;
  tokens: Token[];
}

/**
 * The turns of a conversation by their start. Where sides with a channel of their own speak at once, their turns overlap; a
 * turn is not cut by a word of the other side. Without channels and speakers it is one turn.
 */
export function turnsOf<Token extends TimedToken>(
  tokens: readonly Token[],
  words: readonly VoicedWord[],
  names: SpeakerNames = null,
): Turn<Token>[] {
  const voices = inherited(tokens, words, (word) => voiceOf(word, names));
  const mayOverlap = words.some(({ channel }) => channel !== undefined);
  const turns: Turn<Token>[] = [];
  tokens.forEach((token, index) => {
    const voice = voices[index];
    const last = turns.at(-1);
    const earlier = mayOverlap ? turns.findLast((turn) => turn.voice === voice) : undefined;
    const present = last?.voice === voice ? last : earlier;
    const pause = token.start - (present?.tokens.at(-1)?.end ?? -Infinity);
    if (present && (present === last || pause < TURN_PAUSE_SECONDS)) present.tokens.push(token);
    else turns.push({ voice, tokens: [token] });
  });
  return turns;
}

/** Whether readers need to be told who speaks: not of a speaker who is alone. */
export function isConversation(turns: readonly Turn<TimedToken>[], words: readonly VoicedWord[]): boolean {
  return new Set(turns.map(({ voice }) => voice)).size > 1 || words.every(({ speaker }) => speaker === undefined);
}
