import type { SampleEntry } from './sample-entry.js';

/** No frame of a codec that MP4 carries is longer: 8192 samples of ALAC at 8 kHz. */
const MAX_FRAME_SECONDS = 1.024;

/** What the boxes of a track, and of its fragments, say about it. */
export class Mp4Track {
  id = 0;
  isAudio = false;
  /** Ticks in a second. */
  timescale = 0;
  entry: SampleEntry | null = null;
  /** As the tables say; the bytes of what is not there are among them. */
  samples = 0;
  ticks = 0;
  bytes = 0;
  /** Position in the track, in ticks, at which it begins to play: what is before it fills the decoder. */
  private firstTick: number | null = null;
  /** In ticks of the movie; null: up to the end. */
  private played: number | null = 0;

  /** One without bytes holds no audio. */
  addSample(bytes: number): void {
    if (bytes > 0) this.samples++;
    this.bytes += bytes;
  }

  /** An entry of the edit list. @param time ticks of the track; negative: nothing is played */
  takeEdit(duration: number, time: number): void {
    if (time < 0) return;
    this.firstTick ??= time;
    this.played = duration === 0 || this.played === null ? null : this.played + duration;
  }

  /** @param held the share of the bytes that the file holds; less than 1 when it is truncated. */
  seconds(movieTimescale: number, held: number): number {
    if (this.timescale === 0) return 0;
    const stated = Math.max(0, this.ticks - (this.firstTick ?? 0)) / this.timescale;
    const played =
      this.firstTick === null || this.played === null || movieTimescale === 0
        ? stated
        : Math.min(stated, this.played / movieTimescale);
    return Math.min(played * held, this.samples * MAX_FRAME_SECONDS);
  }
}
