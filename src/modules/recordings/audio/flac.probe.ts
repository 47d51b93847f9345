import { type AudioFacts, NOTHING_KNOWN } from './audio-facts.js';
import type { FileWindow } from './file-window.js';
import { skipId3Tags } from './id3-tags.js';

const METADATA_HEADER_BYTES = 4;
const STREAMINFO_BYTES = 34;
/** Blocks of metadata before the audio that are skipped. */
const MAX_METADATA_BLOCKS = 1000;

/** No frame is shorter. */
const MIN_FRAME_BYTES = 8;
const MAX_BLOCK_SAMPLES = 65_536;
/** Two hours at 192 kHz in usual blocks are 340,000. */
const MAX_FRAMES = 400_000;
/** Places that look like a frame and are none, of which usual audio has one in 65,536 bytes. */
const MAX_MISSES = 10_000;

interface StreamInfo {
  sampleRate: number;
  channels: number;
  audioStart: number;
}

/** Counts the frames: STREAMINFO has no length in a live recording, and a wrong one in a truncated file. */
export async function probeFlac(window: FileWindow): Promise<AudioFacts> {
  const info = await readStreamInfo(window);
  if (!info) return NOTHING_KNOWN;
  const { sampleRate, channels, audioStart } = info;
  const durationSeconds = (await countSamples(window, audioStart)) / sampleRate;
  const bitRate = ((window.size - audioStart) * 8) / durationSeconds;
  return { durationSeconds, sampleRate, channels, bitRate, codec: 'flac' };
}

async function readStreamInfo(window: FileWindow): Promise<StreamInfo | null> {
  const start = (await skipId3Tags(window)) + 'fLaC'.length;
  let position = start;
  let info: Omit<StreamInfo, 'audioStart'> | null = null;
  for (let blocks = 0; blocks < MAX_METADATA_BLOCKS && position < window.size; blocks++) {
    if (!window.holds(position, METADATA_HEADER_BYTES + STREAMINFO_BYTES)) await window.moveTo(position);
    const header = window.u8(position);
    const length = window.uintBe(position + 1, 3);
    const data = position + METADATA_HEADER_BYTES;
    if (blocks === 0) {
      // RFC 9639 §8.2: it is the first block, and holds the rate in 20 bits and the channels less one in 3.
      if ((header & 0x7f) !== 0 || length !== STREAMINFO_BYTES) return null;
      const packed = window.uintBe(data + 10, 3);
      info = { sampleRate: packed >> 4, channels: ((packed >> 1) & 7) + 1 };
    }
    position = data + length;
    if (header >> 7 === 1) break;
  }
  return info && { ...info, audioStart: position };
}

/** The frames are found by their sync code and checksum, and must come in order. */
async function countSamples(window: FileWindow, start: number): Promise<number> {
  if (!window.holds(start, FLAC_HEADER_BYTES)) await window.moveTo(start);
  const hasVaryingBlocks = window.u8(start + 1) === 0xf9;
  const sync = Buffer.from([0xff, hasVaryingBlocks ? 0xf9 : 0xf8]);
  const numbersPerFrame = hasVaryingBlocks ? MAX_BLOCK_SAMPLES : 1;
  let samples = 0;
  let last = { number: -1, position: start };
  let position = start;
  for (let frames = 0, misses = 0; frames < MAX_FRAMES && misses < MAX_MISSES;) {
    position = await window.seek(sync, position);
    if (position + FLAC_HEADER_BYTES > window.size + MIN_FRAME_BYTES) break;
    if (!window.holds(position, FLAC_HEADER_BYTES)) await window.moveTo(position);
    const frame = readFlacFrame(window, position);
    const most = last.number + numbersPerFrame * (1 + (position - last.position) / MIN_FRAME_BYTES);
    if (frame && frame.number > last.number && frame.number <= most) {
      frames++;
      samples += frame.samples;
      last = { number: frame.number, position };
      position += frame.headerLength;
    } else {
      misses++;
      position += 1;
    }
  }
  return samples;
}

/** The header of a frame of FLAC (RFC 9639 §9.1). */
interface FlacFrame {
  /** Number of the frame, or of its first sample where the sizes of blocks vary. */
  number: number;
  /** Samples per channel. */
  samples: number;
  headerLength: number;
}

/** Header with the longest number, two lengths and the checksum. */
const FLAC_HEADER_BYTES = 16;

/** Null unless there is a whole header with its checksum; its bytes must be in view. */
function readFlacFrame(window: FileWindow, position: number): FlacFrame | null {
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
