import { type AudioFacts, NOTHING_KNOWN } from './audio-facts.js';
import type { FileWindow } from './file-window.js';
import { type FrameFormat, scanFrames } from './frame-scan.js';
import { skipId3Tags } from './id3-tags.js';

/** One frame of AAC with an ADTS header (ISO/IEC 13818-7 §6.2). */
interface AdtsFrame {
  sampleRate: number;
  /** Null when the frame itself describes them. */
  channels: number | null;
  /** Samples per channel. */
  samples: number;
  /** Bytes, header included. */
  length: number;
}

/** Sample rates by their index (ISO/IEC 14496-3 §1.6.3). */
export const AAC_SAMPLE_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
];
export const AAC_CHANNELS = [null, 1, 2, 3, 4, 5, 6, 8];
const SAMPLES_PER_BLOCK = 1024;

const HEADER_BYTES = 7;
const CHECKSUM_BYTES = 2;

export const ADTS: FrameFormat<AdtsFrame> = {
  headerBytes: HEADER_BYTES,
  // A length has 13 bits.
  lookAhead: 8192 + HEADER_BYTES,
  read: readAdtsFrame,
};

/** Counts all frames of AAC in ADTS, which has no other header. */
export async function probeAac(window: FileWindow): Promise<AudioFacts> {
  let first: AdtsFrame | undefined;
  let [seconds, bytes] = [0, 0];
  const restSeconds = await scanFrames(window, await skipId3Tags(window), ADTS, (frame) => {
    first ??= frame;
    seconds += frame.samples / frame.sampleRate;
    bytes += frame.length;
  });
  if (!first) return NOTHING_KNOWN;
  const { sampleRate, channels } = first;
  const bitRate = restSeconds > 0 ? null : (bytes * 8) / seconds;
  return { durationSeconds: seconds + restSeconds, sampleRate, channels, bitRate, codec: 'aac' };
}

function readAdtsFrame(window: FileWindow, position: number): AdtsFrame | null {
  const second = window.u8(position + 1);
  // Twelve set bits, then the version, and 0 as the layer: MPEG audio has another.
  if (window.u8(position) !== 0xff || (second & 0xf6) !== 0xf0) return null;
  const hasChecksum = (second & 1) === 0;
  const third = window.u8(position + 2);
  const fourth = window.u8(position + 3);
  const sampleRate = AAC_SAMPLE_RATES[(third >> 2) & 15];
  const length = ((fourth & 3) << 11) | (window.u8(position + 4) << 3) | (window.u8(position + 5) >> 5);
  if (!sampleRate || length <= HEADER_BYTES + (hasChecksum ? CHECKSUM_BYTES : 0)) return null;
  return {
    sampleRate,
    channels: AAC_CHANNELS[((third & 1) << 2) | (fourth >> 6)] ?? null,
    samples: SAMPLES_PER_BLOCK * ((window.u8(position + 6) & 3) + 1),
    length,
  };
}
