import { type AudioFormat, beginsMp4, MP4_MAGIC_BYTES } from '../../../../platform/audio/audio-formats.js';
import { mp4Codec } from '../mp4/m4a.probe.js';
import { AMR_NARROWBAND, AMR_WIDEBAND } from '../probes/amr.probe.js';
import { ADTS_HEADER_BYTES, isFollowedByAdts, readAdtsFrame } from './adts-frame.js';
import { EBML_HEADER_BYTES, readEbmlElement } from './ebml.js';
import type { FileWindow } from './file-window.js';
import { skipId3Tags } from './id3-tags.js';
import { readMpegFrame } from './mpeg-frame.js';

/** An EBML header is some 40 bytes; padding behind an ID3 tag seldom exceeds 2 KiB. */
const HEAD_BYTES = 4096;

/** A frame and the header of the next. */
const MAX_ADTS_BYTES = 8192 + ADTS_HEADER_BYTES;

/** HEIF and AVIF. */
const IMAGE_BRANDS = new Set(
  ['heic', 'heix', 'heim', 'heis', 'mif1', 'msf1', 'avif', 'avis'].map((name) => `ftyp${name}`),
);

/**
 * Detects the format from the bytes alone, with at most one read for each ID3 tag and two more (D21). Only the beginning
 * of the container is checked; the decoder finds out whether the rest is valid. Of MP4 the boxes are read up to the one
 * that names the codec, which may be at its end (D47).
 */
export async function detectFormat(head: FileWindow): Promise<AudioFormat | null> {
  await head.moveTo(0);
  const magic = head.latin1(0, 4);
  if (magic === '\x1aE\xdf\xa3') return ebmlDocType(head) === 'webm' ? 'webm' : null;
  // RFC 3533 §6: the only version of the page header is 0.
  if (magic === 'OggS') return head.size > 4 && head.u8(4) === 0 ? 'ogg' : null;
  // RF64 (EBU Tech 3306) is WAVE with 64-bit sizes, which recorders also write for short notes.
  if (magic === 'RIFF' || magic === 'RF64') return head.latin1(8, 4) === 'WAVE' ? 'wav' : null;
  if (magic === '#!AM') return isAmr(head) ? 'amr' : null;
  if (beginsMp4(head.latin1(0, MP4_MAGIC_BYTES))) return await detectMp4(head);
  return await detectFrames(head);
}

const isAmr = (head: FileWindow): boolean =>
  head.latin1(0, AMR_NARROWBAND.length) === AMR_NARROWBAND || head.latin1(0, AMR_WIDEBAND.length) === AMR_WIDEBAND;

/** RFC 8794 §11.2.4: without a DocType element it is `matroska`, which is not accepted. */
function ebmlDocType(head: FileWindow): string | null {
  const header = readEbmlElement(head, 0);
  if (!header || header.size === null) return null;
  const end = Math.min(header.data + header.size, HEAD_BYTES - EBML_HEADER_BYTES);
  for (let position = header.data; position < end;) {
    const element = readEbmlElement(head, position);
    if (!element || element.size === null) return null;
    // A string may be padded with NULs (§7.4).
    if (element.id === 0x4282) return head.latin1(element.data, Math.min(element.size, 64)).replace(/(?<!\0)\0+$/, '');
    position = element.data + element.size;
  }
  return null;
}

/** What stands at the start, or after ID3v2 tags and the zeros with which some taggers pad them. */
async function detectFrames(head: FileWindow): Promise<AudioFormat | null> {
  let position = await skipId3Tags(head);
  if (position > 0) {
    const limit = Math.min(head.size, position + HEAD_BYTES);
    while (position < limit && head.u8(position) === 0) position++;
  }
  if (head.latin1(position, 4) === 'fLaC') return 'flac';
  if (position + 4 <= head.size && readMpegFrame(head.u32be(position))) return 'mp3';
  if (!head.holds(position, MAX_ADTS_BYTES)) await head.moveTo(position);
  const frame = readAdtsFrame(head, position);
  return frame && isFollowedByAdts(head, position, frame) ? 'aac' : null;
}

/** MP4, 3GP or QuickTime. Images have the same container. */
async function detectMp4(file: FileWindow): Promise<AudioFormat | null> {
  if (IMAGE_BRANDS.has(file.latin1(4, 8))) return null;
  const codec = await mp4Codec(file);
  return codec === 'amr_nb' || codec === 'amr_wb' ? 'amr' : 'm4a';
}
