import { t } from '../../../language/texts';

/** How far a run of the engine is. */
export interface RunProgress {
  /** Of what is transcribed so far, in seconds of the audio. */
  end: number;
  /** Of the audio, from 0 to 1; null while its length is not known. */
  share: number | null;
  /** Null until two parts have told how fast it is, too. */
  secondsLeft: number | null;
  /** What is transcribed so far. */
  text: string;
}

/** Tells from the parts of a text that arrive how long the rest will take. */
export class ProgressEstimate {
  private first: { end: number; at: number } | null = null;

  /**
   * @param end of what is transcribed so far, in seconds of the audio
   * @param now in milliseconds
   */
  next(end: number, durationSeconds: number, text: string, now: number): RunProgress {
    // Another attempt has begun again.
    if (this.first && end < this.first.end) this.first = null;
    this.first ??= { end, at: now };
    const [done, passed] = [end - this.first.end, (now - this.first.at) / 1000];
    const left = Math.max(0, durationSeconds - end);
    const isKnown = durationSeconds > 0;
    return {
      end,
      share: isKnown ? Math.min(1, end / durationSeconds) : null,
      secondsLeft: isKnown && done > 0 && passed > 0 ? (left * passed) / done : null,
      text,
    };
  }
}

/** `less than a minute`, `about 4 minutes`, `about 2 hours`. */
export function roughly(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  if (minutes < 1) return t('less than a minute');
  if (minutes < 60) return t('about {minutes, plural, one {a minute} other {# minutes}}', { minutes });
  return t('about {hours, plural, one {an hour} other {# hours}}', { hours: Math.round(minutes / 60) });
}
