import { EnergyDetector } from './energy-detector.js';
import { FRAME_BYTES, type SpeechDetector } from './speech-detector.js';

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
