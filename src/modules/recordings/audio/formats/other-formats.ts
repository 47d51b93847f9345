import { type AudioFormat, listFormats } from '../../../../platform/audio/audio-formats.js';
import type { FileWindow } from './file-window.js';

/** First bytes of formats that people upload by mistake; the offset is 0 unless it is given. */
const SIGNATURES: readonly { bytes: string; offset?: number; name: string }[] = [
  ...['heic', 'heix', 'mif1', 'msf1'].map((brand) => ({ bytes: `ftyp${brand}`, offset: 4, name: 'HEIF' })),
  ...['avif', 'avis'].map((brand) => ({ bytes: `ftyp${brand}`, offset: 4, name: 'AVIF' })),
  { bytes: 'caff', name: 'CAF' },
  { bytes: 'FORM', name: 'AIFF' },
  { bytes: '\x30\x26\xb2\x75', name: 'WMA' },
  { bytes: '\x1aE\xdf\xa3', name: 'Matroska' },
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

/**
 * Why a file is refused: what is accepted, and what the file looks like instead, where that can be told.
 * @param format of the file, if it is one that the operator does not accept
 */
export async function unsupportedFormat(
  file: FileWindow,
  accepted: readonly AudioFormat[],
  format: AudioFormat | null,
): Promise<string> {
  const rule = `must be audio in ${listFormats(accepted)}`;
  if (format !== null) return `${rule}; this is ${format}`;
  await file.moveTo(0);
  const head = file.latin1(0, Math.min(SAMPLE_BYTES, file.size));
  const known = SIGNATURES.find(({ bytes, offset = 0 }) => head.startsWith(bytes, offset));
  const name = known?.name ?? (isText(head) ? 'text' : null);
  return name === null ? rule : `${rule}; this looks like ${name}`;
}

/** ASCII, or bytes of UTF-8 and Latin-1 above it; no control characters but white space. */
const isText = (head: string): boolean => /^[\t\n\r\x20-\x7e\x80-\xff]+$/.test(head) && /[\x20-\x7e]{4}/.test(head);
