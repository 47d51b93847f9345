import type { FileWindow } from './file-window.js';

/** Some taggers put a new tag before the old one; players follow only a few. */
const MAX_TAGS = 8;

/** Moves behind the ID3v2 tags at the start of the file. @returns that position */
export async function skipId3Tags(window: FileWindow): Promise<number> {
  let position = 0;
  if (!window.holds(0, 16)) await window.moveTo(0);
  for (let tags = 0; tags <= MAX_TAGS; tags++) {
    const tag = id3v2Length(window, position);
    if (tag === 0) break;
    position += tag;
    await window.moveTo(position);
  }
  return position;
}

/**
 * Length in bytes of the ID3v2 tag at `position`, header and footer included; 0 when there is none
 * (https://id3.org/id3v2.4.0-structure §3.1). The size is 28 bits in four bytes whose top bits are clear.
 */
export function id3v2Length(window: FileWindow, position: number): number {
  if (window.u8(position) !== 0x49 || window.latin1(position, 3) !== 'ID3') return 0;
  let size = 0;
  for (let i = position + 6; i < position + 10; i++) {
    if (window.u8(i) >= 0x80) return 0;
    size = size * 128 + window.u8(i);
  }
  const hasFooter = (window.u8(position + 5) & 0x10) !== 0;
  return 10 + size + (hasFooter ? 10 : 0);
}
