import type { Recording } from 'vnotes';

import { t } from '../language/texts';
import type { UploadItem } from '../uploads/store/upload-item';
import { formatDate } from './date';

/** What a client calls a file that has no name. */
const NAMELESS = new Set(['', 'voice-note', 'blob']);
/** What the recorder of the console writes. */
const OF_RECORDER = /\.(?:webm|m4a)$/;
/** A file's name has no separator of folders: the service would cut it there. The signs that look like them stand for them. */
const STAND_INS = [
  ['/', '\u2215'],
  ['\\', '\u29f5'],
] as const;

/** The name of the file that a recording of the console is sent as. */
export function filenameOfTitle(title: string, extension: string): string {
  const name = STAND_INS.reduce((text, [separator, standIn]) => text.replaceAll(separator, standIn), title);
  return `${name}.${extension}`;
}

/** The title that was typed. */
function titleOfFilename(filename: string): string {
  const name = filename.replace(OF_RECORDER, '');
  return STAND_INS.reduce((text, [separator, standIn]) => text.replaceAll(standIn, separator), name);
}

/** Of what is on its way. A file that was chosen is called as on the disk. */
export function titleOfItem({ kind, name }: Pick<UploadItem, 'kind' | 'name'>): string {
  return kind === 'recording' ? titleOfFilename(name) : name;
}

/** The title, or the name of the file; else when it was made. */
export function titleOf(
  recording: Pick<Recording, 'title' | 'original_filename' | 'upload_source' | 'created_at'>,
): string {
  // Without a title of its own it is called as its file.
  if (recording.title !== undefined && recording.title !== recording.original_filename) return recording.title;
  const name = recording.original_filename?.trim() ?? '';
  if (NAMELESS.has(name)) return t('Recording from {date}', { date: formatDate(recording.created_at) });
  return recording.upload_source === 'console' ? titleOfFilename(name) : name;
}
