import { type AudioFacts, NOTHING_KNOWN } from './audio-facts.js';
import type { FileWindow } from './file-window.js';
import { type FrameFormat, scanFrames } from './frame-scan.js';
import { id3v2Length } from './id3-tags.js';

/** One frame of MPEG audio layer III. */
interface MpegFrame {
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

const MPEG: FrameFormat<MpegFrame> = {
  headerBytes: 4,
  // The longest frame of layer III has 1441 bytes.
  lookAhead: 1536,
  read: readMpegFrame,
  tagLength: (window, position) => id3v2Length(window, position) || apeLength(window, position),
};

/** Counts all frames: a Xing, Info or VBRI header is wrong in truncated files, and many files have none. */
export async function probeMp3(window: FileWindow, start = 0): Promise<AudioFacts> {
  const count = new FrameCount();
  const restSeconds = await scanFrames(window, start, MPEG, (frame, position) => count.take(frame, window, position));
  return count.facts(restSeconds);
}

class FrameCount {
  private first: MpegFrame | null = null;
  private info: InfoTag | null = null;
  private frames = 0;
  private seconds = 0;
  private bytes = 0;
  private isConstant = true;

  take(frame: MpegFrame, window: FileWindow, position: number): void {
    if (!this.first) {
      this.first = frame;
      this.info = readInfoTag(window, position, frame);
      if (this.info) return;
    }
    if (frame.bitRate !== this.first.bitRate) this.isConstant = false;
    this.frames++;
    this.seconds += frame.samples / frame.sampleRate;
    this.bytes += frame.length;
  }

  /** @param restSeconds of what was not looked at */
  facts(restSeconds: number): AudioFacts {
    if (!this.first) return NOTHING_KNOWN;
    const { sampleRate, channels, bitRate } = this.first;
    const { frames = 0, delay = 0, padding = 0 } = this.info ?? {};
    const dropped = delay + (this.frames >= frames ? padding : 0);
    return {
      durationSeconds: Math.max(0, this.seconds + restSeconds - dropped / sampleRate),
      sampleRate,
      channels,
      bitRate: restSeconds > 0 ? null : this.isConstant ? bitRate : (this.bytes * 8) / this.seconds,
      codec: 'mp3',
    };
  }
}

// ISO/IEC 11172-3 §2.4.2.3 and 13818-3 §2.4.2.3: kbit/s by bitrate_index. Index 0 is the free format, which players refuse.
const MPEG1_KBITS = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const MPEG2_KBITS = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const MPEG1_RATES = [44100, 48000, 32000];

const LAYER_III = 1;
const VERSION_RESERVED = 1;
const VERSION_1 = 3;
const MONO = 3;

/** Null unless it is layer III: ADTS AAC has layer 0, MP2 layer II. */
export function readMpegFrame(window: FileWindow, position: number): MpegFrame | null {
  const header = window.u32be(position);
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

interface InfoTag {
  frames: number;
  /** Samples that the encoder added before and after the audio, and that a decoder drops. */
  delay: number;
  padding: number;
}

/**
 * The Xing, Info or VBRI tag of a first frame, which then holds no audio; null when it has none. LAME's extension
 * (http://gabriel.mp3-tech.org/mp3infotag.html) follows those fields of a Xing tag whose flags are set: 21 bytes
 * from the encoder's name, 12 bits of delay and 12 of padding.
 */
function readInfoTag(window: FileWindow, position: number, frame: MpegFrame): InfoTag | null {
  const tag = position + 4 + frame.sideInfoLength;
  const name = window.latin1(tag, 4);
  if (name !== 'Xing' && name !== 'Info') {
    const isVbri = window.latin1(position + 4 + 32, 4) === 'VBRI';
    return isVbri ? { frames: 0, delay: 0, padding: 0 } : null;
  }
  const flags = window.u8(tag + 7);
  const frames = flags & 1 ? window.u32be(tag + 8) : 0;
  const lame = tag + 8 + (flags & 1 ? 4 : 0) + (flags & 2 ? 4 : 0) + (flags & 4 ? 100 : 0) + (flags & 8 ? 4 : 0);
  const isExtended = /^(?:LAME|Lav[cf])/.test(window.latin1(lame, 4));
  const packed = isExtended ? window.uintBe(lame + 21, 3) : 0;
  return { frames, delay: packed >> 12, padding: packed & 0xfff };
}

/** Length of the APEv2 tag at `position`, which may hold a cover image; 0 without one (wiki.hydrogenaud.io, APEv2 specification). */
function apeLength(window: FileWindow, position: number): number {
  if (position + 32 > window.size || window.latin1(position, 8) !== 'APETAGEX') return 0;
  // Of what follows its header.
  return 32 + window.u32le(position + 12);
}
