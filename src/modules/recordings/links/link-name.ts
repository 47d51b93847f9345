import { AUDIO_FORMAT_NAMES, type AudioFormat } from '../../../platform/audio-formats.js';
import { cleanFilename } from '../upload/upload-form.js';

/** Of a path that ends with a slash, and of a header without a name. */
const PLAIN = /(?:^|;)\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i;
/** RFC 8187: the name in UTF-8, percent-encoded. */
const ENCODED = /(?:^|;)\s*filename\*\s*=\s*UTF-8'[^']*'([^\s;]+)/i;

/** Longer than any name; a header may have 16 KiB. */
const MAX_HEADER_LENGTH = 4096;

/** The name that the answer gives the file (RFC 6266), or null. */
export function nameInDisposition(header: string | undefined): string | null {
  const text = header?.slice(0, MAX_HEADER_LENGTH) ?? '';
  const encoded = decoded(ENCODED.exec(text)?.[1] ?? '');
  if (encoded) return cleanFilename(encoded);
  const plain = PLAIN.exec(text);
  const name = plain?.[1]?.replace(/\\(.)/g, '$1') ?? plain?.[2] ?? '';
  // Headers arrive as bytes, which most servers mean as UTF-8.
  return name === '' ? null : cleanFilename(Buffer.from(name, 'latin1').toString('utf8'));
}

/** The last part of the path. */
export function nameInUrl(url: string): string {
  const { pathname } = new URL(url);
  return cleanFilename(decoded(pathname.slice(pathname.lastIndexOf('/') + 1)) ?? '');
}

/** What the end of a name promises, until the file is there; without a promise `mp3`. */
export function formatInName(name: string): AudioFormat {
  const extension = name.slice(name.lastIndexOf('.') + 1).toLowerCase();
  return AUDIO_FORMAT_NAMES.find((format) => format === extension) ?? 'mp3';
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
