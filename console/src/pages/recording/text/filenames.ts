import type { Recording } from 'vnotes';

// oxlint-disable-next-line no-control-regex -- no file system takes them
const FORBIDDEN = /[\0-\x1f\x7f<>:"/\\|?*\u202a-\u202e\u2066-\u2069]+/g;
/** No other: the title of a recording may end with `2.5`. */
const AUDIO_EXTENSION = /\.(?:3gp|aac|amr|flac|m4a|mov|mp3|mp4|oga|ogg|opus|wav|webm)$/i;
const LONGEST = 100;

/** The name of a download: that of the upload with another ending, or the time of the recording. */
export function filenameOf(
  { original_filename, created_at }: Pick<Recording, 'original_filename' | 'created_at'>,
  extension: string,
): string {
  const base = (original_filename ?? '')
    .replace(AUDIO_EXTENSION, '')
    .replace(FORBIDDEN, ' ')
    .replace(/^[\s.]+|(?<![\s.])[\s.]+$/g, '')
    .slice(0, LONGEST);
  return `${base === '' ? `voice-note-${created_at.slice(0, 16).replace(/[T:]/g, '-')}` : base}.${extension}`;
}
