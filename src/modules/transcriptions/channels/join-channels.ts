import { timeTokens } from '../alignment/time-tokens.js';
import { joinTokens, tokensOf } from '../alignment/tokens.js';
import { type JoinedTranscript, joinTranscripts, type TranscribedChunk } from '../chunks/transcript-joiner.js';

/** A piece of the text, with the time at which it begins. */
interface Phrase {
  start: number;
  text: string;
}

/**
 * Joins the chunks of each channel of a recording. Of several channels the words are merged by their start, and say which
 * channel they are of; the text is in the same order, with its punctuation.
 */
export function joinChannels(
  channels: readonly (readonly TranscribedChunk[])[],
  durationSeconds: number,
): JoinedTranscript {
  const { confidence, language, ...only } = joinTranscripts(channels.flat());
  if (channels.length === 1) return { ...only, confidence, language };
  const voices = channels.map((chunks) => ({ chunks, joined: joinTranscripts(chunks) }));
  const words = voices.flatMap(({ joined }, channel) => joined.words.map((word) => ({ ...word, channel })));
  const phrases = voices.flatMap(({ chunks, joined }) =>
    joined.words.length > 0 ? timedPhrases(joined, durationSeconds) : chunkPhrases(chunks),
  );
  return {
    text: inOrder(phrases)
      .map(({ text }) => text)
      .join(' '),
    confidence,
    language,
    words: inOrder(words),
  };
}

/** Single words; in a script without spaces everything up to the next space. */
function timedPhrases({ text, words }: JoinedTranscript, durationSeconds: number): Phrase[] {
  const phrases: Phrase[] = [];
  for (const token of timeTokens(tokensOf(text), words, durationSeconds)) {
    const last = phrases.at(-1);
    if (last && token.glued) last.text = joinTokens([{ ...token, text: last.text, glued: false }, token]);
    else phrases.push({ start: token.start, text: token.text });
  }
  return phrases;
}

/** For an engine that reports no words. */
const chunkPhrases = (chunks: readonly TranscribedChunk[]): Phrase[] =>
  chunks.flatMap(({ start, transcript }) => {
    const text = transcript.text.trim();
    return text === '' ? [] : { start, text };
  });

/** What begins at the same time stays in the order of the channels. */
const inOrder = <T extends { start: number }>(items: readonly T[]): T[] => items.toSorted((a, b) => a.start - b.start);
