import { AUDIO_FORMAT_LIST } from '../../../../platform/audio/audio-formats.js';
import type { FileWindow } from './file-window.js';

/** First bytes of formats that people upload by mistake; the offset is 0 unless it is given. */
const SIGNATURES: readonly { bytes: string; offset?: number; name: string }[] = [
  { bytes: 'ftypM4A', offset: 4, name: 'M4A' },
  { bytes: 'ftypqt', offset: 4, name: 'QuickTime' },
  { bytes: 'ftyp3g', offset: 4, name: '3GP' },
  { bytes: 'ftyp', offset: 4, name: 'MP4' },
  { bytes: 'fLaC', name: 'FLAC' },
  { bytes: '#!AMR', name: 'AMR' },
  { bytes: 'caff', name: 'CAF' },
  { bytes: 'FORM', name: 'AIFF' },
  { bytes: '\x30\x26\xb2\x75', name: 'WMA' },
  { bytes: '\x1aE\xdf\xa3', name: 'Matroska' },
  { bytes: '\xff\xf1', name: 'AAC' },
  { bytes: '\xff\xf9', name: 'AAC' },
  { bytes: '\x89PNG', name: 'PNG' },
  { bytes: '\xff\xd8\xff', name: 'JPEG' },
  { bytes: 'GIF8', name: 'GIF' },
  { bytes: '%PDF', name: 'PDF' },
  { bytes: 'PK\x03\x04', name: 'ZIP' },
  { bytes: '\x1f\x8b', name: 'gzip' },
  { bytes: '\x7fELF', name: 'a program' },
  { bytes: 'MZ', name: 'a program' },
];

const SAMPLE_BYTES = 512;

/** Why a file of no known audio format is refused, and what it looks like instead, where that can be told. */
export async function unsupportedFormat(file: FileWindow): Promise<string> {
  await file.moveTo(0);
  const head = file.latin1(0, Math.min(SAMPLE_BYTES, file.size));
  const known = SIGNATURES.find(({ bytes, offset = 0 }) => head.startsWith(bytes, offset));
  const name = known?.name ?? (isText(head) ? 'text' : null);
  return `must be audio in ${AUDIO_FORMAT_LIST}${name === null ? '' : `; this looks like ${name}`}`;
}

/** ASCII, or bytes of UTF-8 and Latin-1 above it; no control characters but white space. */
const isText = (head: string): boolean => /^[\t\n\r\x20-\x7e\x80-\xff]+$/.test(head) && /[\x20-\x7e]{4}/.test(head);
