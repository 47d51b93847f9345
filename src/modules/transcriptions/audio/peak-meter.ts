import { BYTES_PER_SAMPLE, SAMPLES_PER_SECOND } from './pcm.js';

/** Points of a waveform (D52). */
const MAX_POINTS = 1000;
/** A window is 10 ms long at first, and as long as a point of a short recording. */
const FIRST_WINDOW_SAMPLES = SAMPLES_PER_SECOND / 100;
/** Between these and half as many are kept of a longer recording, so that its points are equally long but for a quarter. */
const MAX_WINDOWS = 4 * MAX_POINTS;
/** −36 dB of full scale. */
const LEAST_LOUDEST = 512;

/**
 * Measures how loud audio is over time while it is decoded, in a few kilobytes for any length: the windows become twice
 * as long when there are too many. Costs about a nanosecond for each sample.
 */
export class PeakMeter {
  private readonly windows = new Uint16Array(MAX_WINDOWS);
  private count = 0;
  private windowSamples = FIRST_WINDOW_SAMPLES;
  /** What the window that is not complete has so far. */
  private samples = 0;
  private peak = 0;
  /** The first byte of a sample whose second one is in the next buffer. */
  private half: Buffer = Buffer.alloc(0);

  /** Adds decoded audio, in buffers of any size. */
  add(pcm: Buffer): void {
    const samples = this.samplesOf(pcm);
    for (let position = 0; position < samples.length;) {
      const end = Math.min(samples.length, position + this.windowSamples - this.samples);
      this.samples += end - position;
      this.peak = Math.max(this.peak, loudest(samples, position, end));
      if (this.samples === this.windowSamples) this.endWindow();
      position = end;
    }
  }

  /** @returns the loudest sample of each of up to 1,000 equal parts of all audio so far: 0 to 32,768 */
  peaks(): Uint16Array {
    const windows = [...this.windows.subarray(0, this.count), ...(this.samples > 0 ? [this.peak] : [])];
    const points = Math.min(MAX_POINTS, windows.length);
    const startOf = (point: number): number => Math.floor((point * windows.length) / points);
    return Uint16Array.from({ length: points }, (_, point) =>
      Math.max(...windows.slice(startOf(point), startOf(point + 1))),
    );
  }

  private endWindow(): void {
    this.windows[this.count++] = this.peak;
    this.samples = 0;
    this.peak = 0;
    if (this.count < MAX_WINDOWS) return;
    this.count = MAX_WINDOWS / 2;
    for (let i = 0; i < this.count; i++) {
      this.windows[i] = Math.max(this.windows[2 * i] ?? 0, this.windows[2 * i + 1] ?? 0);
    }
    this.windowSamples *= 2;
  }

  /** Whole samples, in the byte order of the machine, which is little-endian wherever Node runs. */
  private samplesOf(pcm: Buffer): Int16Array {
    const bytes = this.half.length > 0 ? Buffer.concat([this.half, pcm]) : pcm;
    const whole = bytes.length - (bytes.length % BYTES_PER_SAMPLE);
    this.half = Buffer.from(bytes.subarray(whole));
    // A view must begin at an even address.
    const aligned = bytes.byteOffset % BYTES_PER_SAMPLE === 0 ? bytes : new Uint8Array(bytes);
    return new Int16Array(aligned.buffer, aligned.byteOffset, whole / BYTES_PER_SAMPLE);
  }
}

function loudest(samples: Int16Array, start: number, end: number): number {
  let highest = 0;
  let lowest = 0;
  for (let i = start; i < end; i++) {
    const sample = samples[i] as number;
    if (sample > highest) highest = sample;
    else if (sample < lowest) lowest = sample;
  }
  return Math.max(highest, -lowest);
}

/**
 * The points of a waveform, a byte each: 255 is the loudest of all, or more where nothing is louder than −36 dB, because
 * noise that is made as loud as speech looks like speech.
 * @param channels the peaks of each channel, or of all of them, mixed
 */
export function waveformOf(channels: readonly Uint16Array[]): Buffer {
  const peaks = Array.from({ length: Math.max(...channels.map(({ length }) => length)) }, (_, point) =>
    Math.max(...channels.map((channel) => channel[point] ?? 0)),
  );
  const full = peaks.reduce((most, peak) => Math.max(most, peak), LEAST_LOUDEST);
  return Buffer.from(peaks.map((peak) => Math.round((255 * peak) / full)));
}
