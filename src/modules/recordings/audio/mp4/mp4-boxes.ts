import type { FileWindow } from '../formats/file-window.js';

/** A box (ISO/IEC 14496-12 §4.2): its content is from `data` to `end`, which is never behind that of its parent. */
export interface Mp4Box {
  type: string;
  data: number;
  end: number;
}

/** Size and type; a size of 64 bits follows them. */
export const BOX_HEADER_BYTES = 8;
const LONG_HEADER_BYTES = 16;

/** Null when the size is impossible; 16 bytes must be in view. @param limit end of the parent */
export function readBox(window: FileWindow, position: number, limit: number): Mp4Box | null {
  const stated = window.u32be(position);
  const type = window.latin1(position + 4, 4);
  const isLong = stated === 1;
  const data = position + (isLong ? LONG_HEADER_BYTES : BOX_HEADER_BYTES);
  // 0: up to the end.
  const size = isLong ? window.uintBe(position + BOX_HEADER_BYTES, 8) : stated === 0 ? limit - position : stated;
  const end = position + size;
  return end < data || data > limit ? null : { type, data, end: Math.min(end, limit) };
}

/** Calls `take` with the position of each entry of a table, as far as the box holds them. */
export async function eachEntry(
  window: FileWindow,
  { from, end, count, bytes }: { from: number; end: number; count: number; bytes: number },
  take: (position: number) => void,
): Promise<void> {
  const held = Math.max(0, Math.min(count, Math.floor((end - from) / bytes)));
  for (let i = 0; i < held; i++) {
    const position = from + i * bytes;
    if (!window.holds(position, bytes)) await window.moveTo(position);
    take(position);
  }
}
