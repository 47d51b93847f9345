import { stretchesOf } from './exports/rttm.js';
import type { TimedWord } from './text/time-tokens.js';
import type { VoicedWord } from './text/turns.js';

/** How much one speaker says. */
export interface SpeakerShare {
  /** Label. */
  speaker: string;
  words: number;
  /** Length of the speech, with its short pauses. */
  seconds: number;
}

/** The speakers of a transcription in the order of their labels. A function for threads. @param json text of its words */
export function speakerSharesOf(json: string): SpeakerShare[] {
  const words = JSON.parse(json) as (TimedWord & VoicedWord)[];
  const shares = new Map<string, SpeakerShare>();
  for (const { speaker } of words) {
    if (speaker === undefined) continue;
    const share = shares.get(speaker) ?? { speaker, words: 0, seconds: 0 };
    share.words += 1;
    shares.set(speaker, share);
  }
  for (const { voice, start, end } of stretchesOf(words)) (shares.get(voice) as SpeakerShare).seconds += end - start;
  return [...shares.values()]
    .map((share) => ({ ...share, seconds: Number(share.seconds.toFixed(2)) }))
    .toSorted((a, b) => a.speaker.length - b.speaker.length || (a.speaker < b.speaker ? -1 : 1));
}
