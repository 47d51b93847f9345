import { InvalidRequestError } from '../../../platform/errors/errors.js';

/** How long recordings are kept (D78). Null: for ever. */
export interface RetentionPolicy {
  retainAudioDays: number | null;
  /** After them the whole recording goes. */
  retainTextDays: number | null;
  deleteAudioAfter: 'transcribed' | null;
}

/** Ten years. */
export const MAX_RETAIN_DAYS = 3650;

/**
 * Refuses audio that would outlive its text, because with the text the whole recording goes.
 * @throws InvalidRequestError
 */
export function refuseAudioBeyondText({
  retainAudioDays: audio,
  retainTextDays: text,
}: Partial<RetentionPolicy>): void {
  if (typeof text !== 'number' || audio === undefined || (audio !== null && audio <= text)) return;
  const reason = `must be at most retain_text_days (${text}): the audio goes with the text at the latest`;
  throw new InvalidRequestError({ field: 'retain_audio_days', reason });
}
