import type { Recording } from '../recording.entity.js';

/** What an upload to a test account asks for, in the order of the lengths that ask for it as well (D81). */
const NAMES = [
  'no-speech',
  'failed-no-audio',
  'failed-language',
  'failed-too-long',
  'failed-audio-lost',
  'failed-crashed',
  'failed-given-up',
  'failed-decoding-time',
  'failed-codec',
  'failed-sample-rate',
  'failed-channels',
  'failed-too-large',
  'failed-rejected',
  'failed-quota',
  'quota',
  'rate-limit',
  'unavailable',
] as const;
type Name = (typeof NAMES)[number];

/** How the transcription ends. */
type ScriptedOutcome = 'transcribed' | Exclude<Name, ScriptedRefusal>;
/** With which error the upload is answered. */
export type ScriptedRefusal = 'quota' | 'rate-limit' | 'unavailable';

export interface Script {
  outcome: ScriptedOutcome | ScriptedRefusal;
  delaySeconds: number;
}

/** Length of the audio that asks for the first of `NAMES`; the next is a second longer. */
const FIRST_SECONDS = 61;
/** Containers state a length less exactly than to the sample. */
const TOLERANCE_MS = 10;
const MAX_DELAY_SECONDS = 60;

/**
 * What a recording of a test account asks for: by the name of its file without the extension, else by its length in whole
 * seconds, which only few real notes have by chance. All others are transcribed at once.
 */
export function scriptOf({ originalFilename, durationMs }: Pick<Recording, 'originalFilename' | 'durationMs'>): Script {
  const name = originalFilename.replace(/\.[^.]*$/, '').toLowerCase();
  const [, delay] = /^slow-(\d{1,4})$/.exec(name) ?? [];
  if (delay !== undefined) return { outcome: 'transcribed', delaySeconds: Math.min(Number(delay), MAX_DELAY_SECONDS) };
  if (name === 'transcribed') return { outcome: 'transcribed', delaySeconds: 0 };
  const named = NAMES.find((one) => one === name || (name === 'failed' && one === 'failed-no-audio'));
  return { outcome: named ?? outcomeOfLength(durationMs), delaySeconds: 0 };
}

function outcomeOfLength(durationMs: number): Script['outcome'] {
  const seconds = Math.round(durationMs / 1000);
  const isWhole = Math.abs(durationMs - seconds * 1000) <= TOLERANCE_MS;
  return (isWhole ? NAMES[seconds - FIRST_SECONDS] : undefined) ?? 'transcribed';
}
