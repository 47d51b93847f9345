import type { Recording } from 'vnotes';

import { saveFile } from '../../../components/save-file';
import { tellOutcome } from '../../../bulk/bulk-outcome';
import { ONCE, runMany } from '../../../bulk/bulk-task';
import { t, type Text } from '../../../language/texts';
import { api } from '../../../session/api';
import { filenameOf } from '../../recording/text/filenames';
import { uniqueNames } from './unique-names';
import { MAX_ENTRIES, type ZipEntry, zipOf } from './zip';

export const FORMATS = [
  { format: 'text', extension: 'txt', label: 'Text' },
  { format: 'paragraphs', extension: 'txt', label: 'Text in paragraphs' },
  { format: 'srt', extension: 'srt', label: 'Subtitles (.srt)' },
  { format: 'vtt', extension: 'vtt', label: 'Web subtitles (.vtt)' },
] as const satisfies readonly { format: string; extension: string; label: Text }[];
export type Format = (typeof FORMATS)[number];

/** Saves the transcripts as files of one archive, in the order of the list, and tells how it went. */
export async function exportMany(recordings: readonly Recording[], format: Format): Promise<void> {
  const { recordings: resource } = api();
  const texts = new Map<string, string>();
  const outcome = await runMany('export', recordings.slice(0, MAX_ENTRIES), async ({ id }) => {
    texts.set(id, await resource.export(id, format.format, ONCE));
  });
  const nameOf = uniqueNames();
  const files = recordings.flatMap((recording): ZipEntry[] => {
    const text = texts.get(recording.id);
    if (text === undefined) return [];
    return [{ name: nameOf(filenameOf(recording, format.extension)), bytes: new TextEncoder().encode(text) }];
  });
  if (files.length > 0) save(files);
  tellOutcome(
    { ...outcome, left: [...outcome.left, ...recordings.slice(MAX_ENTRIES)] },
    {
      success: t('{files, plural, =1 {Exported the recording.} other {Exported # recordings.}}', {
        files: files.length,
      }),
      stopped: 'Stopped: {done, number} of {all, number} recordings exported.',
      failed:
        '{all, plural, =1 {The recording could not be exported.} other {{failed, number} of {all, number} recordings could not be exported.}}',
      again: (rest) => void exportMany(rest, format),
    },
  );
}

/** Without an archive for one. */
function save(files: readonly ZipEntry[]): void {
  const [first, ...others] = files as [ZipEntry, ...ZipEntry[]];
  const now = new Date();
  const blob = others.length === 0 ? new Blob([first.bytes], { type: 'text/plain' }) : zipOf(files, now);
  saveFile(blob, others.length === 0 ? first.name : `recordings-${now.toISOString().slice(0, 10)}.zip`);
}
