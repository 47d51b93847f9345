import type { FileWindow } from './file-window.js';

/** An element's header (RFC 8794 §5–6): its ID with the length marker, its size (null: unknown), where its data begins. */
export interface EbmlElement {
  id: number;
  size: number | null;
  data: number;
}

/** The longest header of an element: 4 bytes of ID, 8 of size. */
export const EBML_HEADER_BYTES = 12;

/** By length in bytes: a size with all bits set is unknown. */
const ALL_ONES = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((length) => 2 ** (7 * length) - 1);

/** Null when the bytes are no element; the 12 bytes at `position` must be in view. */
export function readEbmlElement(window: FileWindow, position: number): EbmlElement | null {
  const idLength = vintLength(window, position);
  if (idLength > 4) return null;
  const sizeAt = position + idLength;
  const sizeLength = vintLength(window, sizeAt);
  if (sizeLength > 8) return null;
  const size = vintValue(window, sizeAt, sizeLength);
  return {
    id: window.uintBe(position, idLength),
    size: size === ALL_ONES[sizeLength] ? null : size,
    data: sizeAt + sizeLength,
  };
}

/** Bytes of the variable-size integer at `position`: the leading zeros of its first byte and one; 9 when it is invalid. */
export function vintLength(window: FileWindow, position: number): number {
  return Math.clz32(window.u8(position)) - 23;
}

/** The variable-size integer without its length marker; above 2^53 it is approximate. */
export function vintValue(window: FileWindow, position: number, length: number): number {
  let value = window.u8(position) & (0xff >> length);
  for (let i = position + 1; i < position + length; i++) value = value * 256 + window.u8(i);
  return value;
}
