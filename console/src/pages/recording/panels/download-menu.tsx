import type { Recording } from 'vnotes';

import { saveFile } from '../../../components/save-file';
import { formatBytes } from '../../../format/bytes';
import { type Text, t } from '../../../language/texts';
import type { Note } from '../note';
import { filenameOf } from '../text/filenames';
import { Menu, MenuItem } from './menu';
import { toastError } from './notice';

const FORMATS = [
  { format: 'text', extension: 'txt', label: 'Text (.txt)' },
  { format: 'srt', extension: 'srt', label: 'Subtitles (.srt)' },
  { format: 'vtt', extension: 'vtt', label: 'Web subtitles (.vtt)' },
  { format: 'rttm', extension: 'rttm', label: 'Speakers (.rttm)' },
] as const satisfies readonly { format: string; extension: string; label: Text }[];
type Format = (typeof FORMATS)[number]['format'];

/** Text, subtitles and speakers as the service makes them, and the audio as it was uploaded. */
export function DownloadMenu({ note, version }: { note: Note; version: 'current' | 'original' }) {
  const recording = note.recording.value as Recording;
  const { recordings } = note.client;
  const hasSpeakers = note.naming.persons.value.length > 0;
  const audio = async () => await (await recordings.audio(note.id)).blob();
  const text = async (format: Format) => new Blob([await recordings.export(note.id, format, { version })]);
  return (
    <Menu label={t('Download')} icon="download">
      <MenuItem icon="waveform" onClick={() => void save(recording, recording.audio_format, audio)}>
        {t('Audio (.{format}, {size})', {
          format: recording.audio_format,
          size: formatBytes(recording.file_size_bytes),
        })}
      </MenuItem>
      {note.transcription.value &&
        FORMATS.filter(({ format }) => format !== 'rttm' || hasSpeakers).map(({ format, extension, label }) => (
          <MenuItem key={format} icon="file" onClick={() => void save(recording, extension, () => text(format))}>
            {t(label)}
          </MenuItem>
        ))}
    </Menu>
  );
}

async function save(recording: Recording, extension: string, load: () => Promise<Blob>): Promise<void> {
  try {
    saveFile(await load(), filenameOf(recording, extension));
  } catch (error) {
    toastError(t('The download failed.'), error);
  }
}
