import type { FileWindow } from './file-window.js';

/** One frame of MPEG audio layer III, read from its four header bytes. */
export interface MpegFrame {
  sampleRate: number;
  channels: 1 | 2;
  /** Bit/s. */
  bitRate: number;
  /** Samples per channel. */
  samples: 576 | 1152;
  /** Bytes, header included. */
  length: number;
  /** Bytes between the header and the audio data, or a Xing or Info tag. */
  sideInfoLength: number;
}

// ISO/IEC 11172-3 §2.4.2.3 and 13818-3 §2.4.2.3: kbit/s by bitrate_index. Index 0 is the free format, which players refuse.
const MPEG1_KBITS = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const MPEG2_KBITS = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const MPEG1_RATES = [44100, 48000, 32000];

const LAYER_III = 1;
const VERSION_RESERVED = 1;
const VERSION_1 = 3;
const MONO = 3;

/** From the header as a big-endian 32-bit number; null unless it is layer III (ADTS AAC has layer 0, MP2 layer II). */
export function readMpegFrame(header: number): MpegFrame | null {
  if (header >>> 21 !== 0x7ff) return null;
  const version = (header >>> 19) & 3;
  if (version === VERSION_RESERVED || ((header >>> 17) & 3) !== LAYER_III) return null;
  const mpeg1 = version === VERSION_1;
  const kbits = (mpeg1 ? MPEG1_KBITS : MPEG2_KBITS)[(header >>> 12) & 15];
  const mpeg1Rate = MPEG1_RATES[(header >>> 10) & 3];
  if (!kbits || !mpeg1Rate) return null;

  // MPEG-2 halves the rates, MPEG-2.5 (version 0) halves them again.
  const sampleRate = mpeg1 ? mpeg1Rate : mpeg1Rate / (version === 2 ? 2 : 4);
  const samples = mpeg1 ? 1152 : 576;
  const padding = (header >>> 9) & 1;
  const channels = ((header >>> 6) & 3) === MONO ? 1 : 2;
  return {
    sampleRate,
    channels,
    bitRate: kbits * 1000,
    samples,
    length: Math.floor(((samples / 8) * kbits * 1000) / sampleRate) + padding,
    sideInfoLength: mpeg1 ? (channels === 1 ? 17 : 32) : channels === 1 ? 9 : 17,
  };
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
