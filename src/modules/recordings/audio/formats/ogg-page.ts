import type { FileWindow } from './file-window.js';

/** The longest header of a page: 27 bytes and 255 lacing values. */
export const OGG_PAGE_HEADER_BYTES = 27 + 255;

/** A page (RFC 3533 §6); `lacing`, `body` and `end` are positions in the file, `end` that of the next page. */
export interface OggPage {
  continuesPacket: boolean;
  beginsStream: boolean;
  /** Number of the last sample that ends in this page; null when no packet ends in it. */
  granule: number | null;
  serial: number;
  segments: number;
  lacing: number;
  body: number;
  end: number;
}

/** Null when no page begins at `position`. */
export function readOggPage(window: FileWindow, position: number): OggPage | null {
  // "OggS" and version 0, the only one.
  if (window.u32be(position) !== 0x4f676753 || window.u8(position + 4) !== 0) return null;
  const flags = window.u8(position + 5);
  const granuleHigh = window.u32le(position + 10);
  const segments = window.u8(position + 26);
  const lacing = position + 27;
  let end = lacing + segments;
  for (let i = 0; i < segments; i++) end += window.u8(lacing + i);
  return {
    continuesPacket: (flags & 1) !== 0,
    beginsStream: (flags & 2) !== 0,
    // 64 bits, signed; -1 means none, and other negative numbers have no meaning.
    granule: granuleHigh >= 0x80000000 ? null : granuleHigh * 2 ** 32 + window.u32le(position + 6),
    serial: window.u32le(position + 14),
    segments,
    lacing,
    body: lacing + segments,
    end,
  };
}
