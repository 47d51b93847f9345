/** Seconds of audio that may arrive at once, for example after a connection broke. */
const BURST_SECONDS = 60;
/** Seconds of audio that may arrive in a second after that. */
const SPEED = 2;
/** Bytes a second of what a browser records: more than any of them writes for speech, uncompressed sound included. */
const CONTAINER_BYTES_PER_SECOND = 400_000;

/** Bounds how much faster than real time the audio of one connection is read. */
export class AudioPace {
  private budget: number;
  private countedAt: number;

  /** @param bytesPerSecond null for a container. @param now milliseconds of a clock that never goes back. */
  constructor(
    private readonly bytesPerSecond: number | null,
    now: number,
  ) {
    this.budget = BURST_SECONDS * this.rate;
    this.countedAt = now;
  }

  /** @returns milliseconds for which nothing more should be read. */
  take(bytes: number, now: number): number {
    const refilled = this.budget + ((now - this.countedAt) / 1000) * SPEED * this.rate;
    this.budget = Math.min(BURST_SECONDS * this.rate, refilled) - bytes;
    this.countedAt = now;
    return Math.max(0, (-this.budget / (SPEED * this.rate)) * 1000);
  }

  private get rate(): number {
    return this.bytesPerSecond ?? CONTAINER_BYTES_PER_SECOND;
  }
}
