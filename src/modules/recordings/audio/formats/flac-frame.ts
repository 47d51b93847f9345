import type { FileWindow } from './file-window.js';

/** The header of a frame of FLAC (RFC 9639 §9.1). */
export interface FlacFrame {
  /** Number of the frame, or of its first sample where the sizes of blocks vary. */
  number: number;
  /** Samples per channel. */
  samples: number;
  headerLength: number;
}

/** Header with the longest number, two lengths and the checksum. */
export const FLAC_HEADER_BYTES = 16;

/** Null unless there is a whole header with its checksum; its bytes must be in view. */
export function readFlacFrame(window: FileWindow, position: number): FlacFrame | null {
  const codes = window.u8(position + 2);
  const channels = window.u8(position + 3);
  const sizeCode = codes >> 4;
  const rateCode = codes & 15;
  // Reserved values.
  if (sizeCode === 0 || rateCode === 15 || channels >> 4 > 10 || (channels & 1) === 1) return null;
  let at = position + 4;
  const leadingOnes = Math.clz32(~(window.u8(at) << 24));
  if (leadingOnes === 1 || leadingOnes > 7) return null;
  const numberLength = Math.max(1, leadingOnes);
  let number = leadingOnes === 0 ? window.u8(at) : window.u8(at) & (0x7f >> leadingOnes);
  for (let i = 1; i < numberLength; i++) {
    if (window.u8(at + i) >> 6 !== 2) return null;
    number = number * 64 + (window.u8(at + i) & 63);
  }
  at += numberLength;
  const samples = blockSamples(window, at, sizeCode);
  at += sizeCode === 6 ? 1 : sizeCode === 7 ? 2 : 0;
  at += rateCode === 12 ? 1 : rateCode > 12 ? 2 : 0;
  if (checksum(window, position, at) !== window.u8(at)) return null;
  return { number, samples, headerLength: at + 1 - position };
}

function blockSamples(window: FileWindow, at: number, code: number): number {
  if (code === 1) return 192;
  if (code < 6) return 576 << (code - 2);
  if (code === 6) return window.u8(at) + 1;
  return code === 7 ? window.uintBe(at, 2) + 1 : 256 << (code - 8);
}

/** CRC-8 with the polynomial x^8 + x^2 + x + 1. */
function checksum(window: FileWindow, from: number, to: number): number {
  let sum = 0;
  for (let at = from; at < to; at++) {
    sum ^= window.u8(at);
    for (let bit = 0; bit < 8; bit++) sum = sum & 0x80 ? ((sum << 1) ^ 0x07) & 0xff : sum << 1;
  }
  return sum;
}
