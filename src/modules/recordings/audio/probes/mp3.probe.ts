import { type AudioFacts, longestSeconds, MAX_JUNK_BYTES, NOTHING_KNOWN } from './audio-facts.js';
import type { FileWindow } from '../formats/file-window.js';
import { id3v2Length, type MpegFrame, readMpegFrame } from '../formats/mpeg-frame.js';

/** The longest layer III frame, 1441 bytes, and the header of the next. */
const LOOK_AHEAD = 1536;

/** Skipping an ID3 tag costs about as much as searching this many bytes. */
const TAG_WORK = 512;

const SYNC = Buffer.from([0xff]);

/** Counts all frames: a Xing, Info or VBRI header is wrong in truncated files, and many files have none. */
export async function probeMp3(window: FileWindow, start = 0): Promise<AudioFacts> {
  const count = new FrameCount();
  let inSync = false;
  let junk = 0;
  let position = start;
  while (position + 4 <= window.size && junk <= MAX_JUNK_BYTES) {
    if (!window.holds(position, LOOK_AHEAD)) await window.moveTo(position);
    const frame = readMpegFrame(window.u32be(position));
    if (frame && position + frame.length <= window.size && (inSync || isFollowed(window, position, frame))) {
      count.take(frame, window, position);
      inSync = true;
      position += frame.length;
      continue;
    }
    inSync = false;
    const tag = id3v2Length(window, position) || apeLength(window, position);
    const next = tag > 0 ? position + tag : await window.seek(SYNC, position + 1);
    junk += tag > 0 ? TAG_WORK : next - position;
    position = next;
  }
  return count.facts(junk > MAX_JUNK_BYTES ? longestSeconds(window.size - position) : 0);
}

/** Length of the APEv2 tag at `position`, which may hold a cover image; 0 without one (wiki.hydrogenaud.io, APEv2 specification). */
function apeLength(window: FileWindow, position: number): number {
  if (position + 32 > window.size || window.latin1(position, 8) !== 'APETAGEX') return 0;
  // Of what follows its header.
  return 32 + window.u32le(position + 12);
}

/** Out of sync, eleven set bits prove little: a frame counts when a similar one, or the end of the file, follows it. */
function isFollowed(window: FileWindow, position: number, frame: MpegFrame): boolean {
  const end = position + frame.length;
  if (end === window.size) return true;
  const next = readMpegFrame(window.u32be(end));
  return next !== null && next.sampleRate === frame.sampleRate;
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
