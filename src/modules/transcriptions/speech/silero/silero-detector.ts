import { BYTES_PER_SAMPLE } from '../../decoding/pcm.js';
import { FRAME_BYTES, FRAME_SAMPLES, type SpeechDetector } from '../speech-detector.js';
import { CONTEXT_SAMPLES, WINDOW_SAMPLES } from './silero-messages.js';
import type { SileroThread } from './silero-thread.js';

/** Silero VAD: recognises voices, whatever else is to be heard. */
export class SileroDetector implements SpeechDetector {
  readonly knowsVoices = true;
  private readonly windows: boolean[] = [];
  private frames = 0;
  private answered = 0;

  constructor(
    private readonly thread: Pick<SileroThread, 'detect' | 'release'>,
    private readonly stream: number,
  ) {}

  async detect(pcm: Buffer): Promise<boolean[]> {
    this.frames += pcm.length / FRAME_BYTES;
    return await this.advance(pcm, false);
  }

  async end(): Promise<boolean[]> {
    return await this.advance(Buffer.alloc(0), true);
  }

  close(): void {
    this.thread.release(this.stream);
  }

  private async advance(pcm: Buffer, last: boolean): Promise<boolean[]> {
    this.windows.push(...(await this.thread.detect(this.stream, samplesOf(pcm), last)));
    const flags: boolean[] = [];
    while (this.answered < this.frames) {
      const window = this.windows[windowOf(this.answered)] ?? (last ? false : null);
      if (window === null) break;
      flags.push(window);
      this.answered++;
    }
    return flags;
  }
}

/** The window around the middle of a frame. */
function windowOf(frame: number): number {
  const middle = (frame + 0.5) * FRAME_SAMPLES;
  return Math.max(0, Math.floor((middle - CONTEXT_SAMPLES) / WINDOW_SAMPLES));
}

/** A copy, which the thread takes over. */
function samplesOf(pcm: Buffer): Int16Array<ArrayBuffer> {
  const samples = new Int16Array(pcm.length / BYTES_PER_SAMPLE);
  pcm.copy(Buffer.from(samples.buffer));
  return samples;
}
