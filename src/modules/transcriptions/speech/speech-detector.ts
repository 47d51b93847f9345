import { BYTES_PER_SAMPLE, SAMPLES_PER_SECOND } from '../audio/pcm.js';

export const FRAMES_PER_SECOND = 100;
export const FRAME_SAMPLES = SAMPLES_PER_SECOND / FRAMES_PER_SECOND;
export const FRAME_BYTES = FRAME_SAMPLES * BYTES_PER_SAMPLE;

/** Finds the speech in one recording, frame by frame. */
export interface SpeechDetector {
  /**
   * Whether a frame that is not speech is certainly none, and not only soft. Then words that an engine reports there are
   * invented.
   */
  readonly knowsVoices: boolean;

  /**
   * Takes the next block of audio: whole frames, preferably several seconds of them.
   * @returns whether each frame is speech, in order. The last frames may come with the next block.
   */
  detect(pcm: Buffer): boolean[] | Promise<boolean[]>;

  /** @returns the frames that are left. */
  end(): boolean[] | Promise<boolean[]>;

  /** Frees what the detector holds. Called once for every recording, also for one that was given up. */
  close(): void;
}

/** Speech is louder than the noise by this much; the level of steady noise varies by less. */
const ABOVE_NOISE_DB = 9;
/** A sound softer than the loudest speech by this much is breath or background. */
const BELOW_LOUDEST_DB = 40;
/** Anything softer is silence. */
const SILENCE_DBFS = -70;
/** Even in fluent speech every tenth frame lies between words or inside a consonant. */
const NOISE_PERCENTILE = 0.1;
const LOUD_PERCENTILE = 0.98;
/** A shorter burst is a click. */
const MIN_RUN = 4;
/** Pole of a first-order high-pass filter at 100 Hz, which removes offset and rumble. */
const HIGH_PASS = 0.96;
/** The levels of the last 20 s, including the current block, decide on its threshold. */
const HISTORY = 20 * FRAMES_PER_SECOND;
const MIN_ENERGY = 1e-12;

/**
 * Distinguishes speech from silence and steady noise by the level of each frame. The threshold follows the noise and the
 * loudest sound of the last seconds, so that it adapts when the noise changes.
 */
export class EnergyDetector implements SpeechDetector {
  readonly knowsVoices = false;
  private recent: number[] = [];
  private previousIn = 0;
  private previousOut = 0;

  detect(pcm: Buffer): boolean[] {
    const levels = this.levels(pcm);
    this.recent = [...this.recent, ...levels].slice(-Math.max(HISTORY, levels.length));
    const threshold = thresholdFor(this.recent);
    const loud = levels.map((level) => level > threshold);
    return loud.map((isLoud, frame) => isLoud && runLength(loud, frame) >= MIN_RUN);
  }

  end(): boolean[] {
    return [];
  }

  close(): void {
    this.recent = [];
  }

  /** The level of each frame, in dB relative to full scale. */
  private levels(pcm: Buffer): number[] {
    const levels: number[] = [];
    for (let offset = 0; offset + FRAME_BYTES <= pcm.length; offset += FRAME_BYTES) {
      let energy = 0;
      for (let at = offset; at < offset + FRAME_BYTES; at += BYTES_PER_SAMPLE) {
        const sample = pcm.readInt16LE(at) / 32_768;
        this.previousOut = sample - this.previousIn + HIGH_PASS * this.previousOut;
        this.previousIn = sample;
        energy += this.previousOut * this.previousOut;
      }
      levels.push(10 * Math.log10(energy / FRAME_SAMPLES + MIN_ENERGY));
    }
    return levels;
  }
}

function thresholdFor(levels: number[]): number {
  const sorted = levels.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? SILENCE_DBFS;
  return Math.max(at(NOISE_PERCENTILE) + ABOVE_NOISE_DB, at(LOUD_PERCENTILE) - BELOW_LOUDEST_DB, SILENCE_DBFS);
}

/** Length of the run of loud frames around a frame, counted up to MIN_RUN. */
function runLength(loud: boolean[], frame: number): number {
  let from = frame;
  let to = frame;
  while (loud[from - 1] && to - from < MIN_RUN) from--;
  while (loud[to + 1] && to - from < MIN_RUN) to++;
  return to - from + 1;
}

/** Goes on by the level of the sound when the other detector fails, without losing a frame. */
export class FallbackDetector implements SpeechDetector {
  private readonly energy = new EnergyDetector();
  private failed = false;
  private frames = 0;
  private answered = 0;

  constructor(private readonly detector: SpeechDetector) {}

  get knowsVoices(): boolean {
    return !this.failed && this.detector.knowsVoices;
  }

  async detect(pcm: Buffer): Promise<boolean[]> {
    const unanswered = this.frames - this.answered;
    this.frames += pcm.length / FRAME_BYTES;
    return this.count(
      await this.attempt(
        () => this.detector.detect(pcm),
        () => [...missed(unanswered), ...this.energy.detect(pcm)],
      ),
    );
  }

  async end(): Promise<boolean[]> {
    const unanswered = this.frames - this.answered;
    return this.count(
      await this.attempt(
        () => this.detector.end(),
        () => missed(unanswered),
      ),
    );
  }

  close(): void {
    this.detector.close();
  }

  private async attempt(first: () => boolean[] | Promise<boolean[]>, otherwise: () => boolean[]): Promise<boolean[]> {
    if (this.failed) return otherwise();
    try {
      return await first();
    } catch {
      this.failed = true;
      return otherwise();
    }
  }

  private count(flags: boolean[]): boolean[] {
    this.answered += flags.length;
    return flags;
  }
}

/** Frames that the failed detector had not answered yet count as speech: too much audio costs less than a lost word. */
function missed(frames: number): boolean[] {
  return Array.from({ length: frames }, () => true);
}
