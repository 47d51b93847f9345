import { ApiError } from 'vnotes';

import { t } from '../../../language/texts';
import { describeError } from '../../../components/describe-error';

/** What keeps the audio from being played, for a person. */
export interface AudioProblem {
  /** In the language of the person. */
  text: () => string;
  /** Whether the same may work later. */
  mayPass: boolean;
}

/** The media element refused the audio, or lost it. */
export class PlaybackError extends Error {
  constructor(readonly media: MediaError | null) {
    super(media?.message ?? 'The audio cannot be played.');
  }
}

const GONE: AudioProblem = {
  text: () => t('The audio is no longer stored. The transcript is not affected.'),
  mayPass: false,
};
const AWAY: AudioProblem = { text: () => t('The audio storage is not available right now.'), mayPass: true };
const LOST: AudioProblem = { text: () => t('The connection was lost while the audio was loading.'), mayPass: true };

/** The browser plays other files of this format. */
const DAMAGED: AudioProblem = {
  text: () => t('This audio cannot be played. The file may be damaged.'),
  mayPass: false,
};

const unplayable = (format: string): AudioProblem => ({
  text: () =>
    t('This browser cannot play {format} files. Download the audio to play it elsewhere.', {
      format: format.toUpperCase(),
    }),
  mayPass: false,
});

/** @param url of the audio, which is asked what the element does not tell; null when there was none */
export async function problemOf(error: unknown, url: string | null, format: string): Promise<AudioProblem> {
  if (!(error instanceof PlaybackError) || url === null) return ofRequest(error);
  try {
    const { status } = await fetch(url, { headers: { Range: 'bytes=0-0' } });
    if (status === 404) return GONE;
    if (status === 503) return AWAY;
    if (status === 429) return { text: () => t('Too many requests. Try again in a minute.'), mayPass: true };
    if (status >= 400) return LOST;
  } catch {
    return LOST;
  }
  return new Audio().canPlayType(`audio/${format}`) === '' ? unplayable(format) : DAMAGED;
}

function ofRequest(error: unknown): AudioProblem {
  if (error instanceof ApiError && error.status === 404) return GONE;
  if (error instanceof ApiError && error.status === 503) return AWAY;
  const text = () => {
    const { title, hint } = describeError(error);
    return `${title}. ${hint}`;
  };
  return { text, mayPass: true };
}
