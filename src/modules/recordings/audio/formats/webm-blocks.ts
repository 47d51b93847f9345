import { vintLength, vintValue } from './ebml.js';
import type { FileWindow } from './file-window.js';
import { OPUS_RATE, opusPacketSamples } from './opus-packet.js';

const LACING = 0x06;

/** No frame of a codec that WebM carries is longer: 8192 samples of Vorbis at 8 kHz. */
const MAX_FRAME_SECONDS = 1.024;

/** Measures the blocks of one track. */
export class WebmBlocks {
  /** Bytes of the frames, block headers not counted. */
  bytes = 0;
  /** Timestamp of the current cluster, in ticks. */
  clusterTime = 0;
  private frames = 0;
  private opusSamples = 0;
  private laced = false;
  private firstTime: number | null = null;
  private lastTime = 0;
  private lastDuration = 0;
  /** Nanoseconds to drop from the end of the last block. */
  private discarded = 0;
  private lastWasOurs = false;

  constructor(
    private readonly window: FileWindow,
    private readonly trackNumber: number,
  ) {}

  /** A Block or SimpleBlock (RFC 9559 §10): track number, 16-bit time relative to the cluster, flags, frames. */
  take(data: number, size: number): void {
    const window = this.window;
    const numberLength = vintLength(window, data);
    const payload = data + numberLength + 3;
    const length = data + size - payload;
    const trackNumber = vintValue(window, data, numberLength);
    this.lastWasOurs = length > 0 && trackNumber === this.trackNumber;
    if (!this.lastWasOurs) return;

    this.bytes += length;
    this.discarded = 0;
    const flags = window.u8(payload - 1);
    if ((flags & LACING) === 0) {
      this.frames++;
      this.opusSamples += opusPacketSamples(length, window.u8(payload), window.u8(payload + 1));
    } else {
      this.frames += window.u8(payload) + 1;
      this.laced = true;
    }
    const relative = (window.uintBe(payload - 3, 2) << 16) >> 16;
    const time = this.clusterTime + relative;
    if (this.firstTime !== null) this.lastDuration = Math.max(0, time - this.lastTime);
    this.firstTime ??= time;
    this.lastTime = time;
  }

  /** BlockDuration, in ticks, follows its block. */
  takeDuration(ticks: number): void {
    if (this.lastWasOurs) this.lastDuration = ticks;
  }

  /** DiscardPadding, in nanoseconds, follows its block: the padding of the last packet. */
  takeDiscardPadding(nanoseconds: number): void {
    if (this.lastWasOurs) this.discarded = nanoseconds;
  }

  /** An Opus packet states its length, unless several are laced into one block. */
  opusSeconds(codecDelay: number): number | null {
    if (this.laced) return null;
    return Math.max(0, this.opusSamples / OPUS_RATE - (codecDelay + this.discarded) / 1e9);
  }

  /** From the start of the first block to the end of the last; `timestampScale` is nanoseconds per tick. */
  seconds(timestampScale: number): number {
    const ticks = this.lastTime + this.lastDuration - (this.firstTime ?? 0);
    return Math.min((ticks * timestampScale) / 1e9, this.frames * MAX_FRAME_SECONDS);
  }
}
