import type { TimedWord } from '../text/time-tokens.js';
import { type SpeakerNames, type VoicedWord, voiceOf } from '../text/turns.js';

/** Words of one voice with a shorter pause between them are one stretch of speech. */
const PAUSE_SECONDS = 0.5;

/** Speech of one voice without a longer pause. Seconds from the start of the recording. */
export interface SpokenStretch {
  voice: string;
  /** 0 unless each channel was transcribed on its own. */
  channel: number;
  start: number;
  end: number;
}

/** Who speaks when, by the words that have a speaker. On one channel a stretch ends where somebody else speaks. */
export function stretchesOf(words: readonly (TimedWord & VoicedWord)[], names: SpeakerNames = null): SpokenStretch[] {
  const stretches: SpokenStretch[] = [];
  const lastOn = new Map<number, SpokenStretch>();
  for (const { speaker, channel = 0, start, end } of words) {
    if (speaker === undefined) continue;
    const voice = voiceOf({ speaker }, names) ?? speaker;
    const last = lastOn.get(channel);
    if (last?.voice === voice && start - last.end < PAUSE_SECONDS) {
      last.end = Math.max(last.end, end);
    } else {
      const stretch = { voice, channel, start, end };
      stretches.push(stretch);
      lastOn.set(channel, stretch);
    }
  }
  return stretches;
}

/**
 * Rich Transcription Time Marked, as tools that measure diarization read it: a line for each stretch of speech. Fields are
 * separated by blanks, so those of names become underscores.
 */
export function rttmOf(
  recordingId: string,
  words: readonly (TimedWord & VoicedWord)[],
  names: SpeakerNames = null,
): string {
  return stretchesOf(words, names)
    .map(({ voice, channel, start, end }) => {
      const times = `${start.toFixed(3)} ${(end - start).toFixed(3)}`;
      const name = voice.trim().replaceAll(/\s+/gu, '_');
      return `SPEAKER ${recordingId} ${channel + 1} ${times} <NA> <NA> ${name} <NA> <NA>\n`;
    })
    .join('');
}
