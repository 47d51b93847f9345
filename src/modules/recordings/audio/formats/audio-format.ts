import type { AudioFormat } from '../../../../platform/audio/audio-formats.js';
import { EBML_HEADER_BYTES, readEbmlElement } from './ebml.js';
import type { FileWindow } from './file-window.js';
import { id3v2Length, readMpegFrame } from './mpeg-frame.js';

/** An EBML header is some 40 bytes; padding behind an ID3 tag seldom exceeds 2 KiB. */
const HEAD_BYTES = 4096;

/** Some taggers put a new tag before the old one; players follow only a few. */
const MAX_ID3_TAGS = 8;

/**
 * Detects the format from the bytes alone, with at most one read for each ID3 tag and one more (D21).
 * Only the beginning of the container is checked; the decoder finds out whether the rest is valid.
 */
export async function detectFormat(head: FileWindow): Promise<AudioFormat | null> {
  await head.moveTo(0);
  const magic = head.latin1(0, 4);
  if (magic === '\x1aE\xdf\xa3') return ebmlDocType(head) === 'webm' ? 'webm' : null;
  // RFC 3533 §6: the only version of the page header is 0.
  if (magic === 'OggS') return head.size > 4 && head.u8(4) === 0 ? 'ogg' : null;
  // RF64 (EBU Tech 3306) is WAVE with 64-bit sizes, which recorders also write for short notes.
  if (magic === 'RIFF' || magic === 'RF64') return head.latin1(8, 4) === 'WAVE' ? 'wav' : null;
  return (await startsWithMp3(head)) ? 'mp3' : null;
}

/** RFC 8794 §11.2.4: without a DocType element it is `matroska`, which is not accepted. */
function ebmlDocType(head: FileWindow): string | null {
  const header = readEbmlElement(head, 0);
  if (!header || header.size === null) return null;
  const end = Math.min(header.data + header.size, HEAD_BYTES - EBML_HEADER_BYTES);
  for (let position = header.data; position < end;) {
    const element = readEbmlElement(head, position);
    if (!element || element.size === null) return null;
    // A string may be padded with NULs (§7.4).
    if (element.id === 0x4282) return head.latin1(element.data, Math.min(element.size, 64)).replace(/\0+$/, '');
    position = element.data + element.size;
  }
  return null;
}

/** A layer III frame header at the start, or after ID3v2 tags and the zeros with which some taggers pad them. */
async function startsWithMp3(head: FileWindow): Promise<boolean> {
  let position = 0;
  for (let tags = 0; tags <= MAX_ID3_TAGS; tags++) {
    const tag = id3v2Length(head, position);
    if (tag === 0) break;
    position += tag;
    await head.moveTo(position);
  }
  if (position > 0) {
    const limit = Math.min(head.size, position + HEAD_BYTES);
    while (position < limit && head.u8(position) === 0) position++;
  }
  return position + 4 <= head.size && readMpegFrame(head.u32be(position)) !== null;
}
