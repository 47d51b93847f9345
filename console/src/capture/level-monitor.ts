import { signal } from '@preact/signals';

const INTERVAL_MS = 50;
/** Enough for the widest screen at the meter's distance of bars. */
const KEPT = 600;
/** Loudness below which a working microphone never stays, even in a quiet room. */
const SILENCE = 0.0008;
const SILENT_MS = 4000;

/** Measures how loud a microphone is, twenty times a second. */
export class LevelMonitor {
  /** 0 to 1, oldest first. */
  readonly levels: number[] = [];
  /** Whether nothing at all has been heard for seconds. */
  readonly silent = signal(false);
  paused = false;
  private readonly context = new AudioContext();
  private readonly analyser = this.context.createAnalyser();
  private readonly samples = new Float32Array(2048);
  private readonly timer: ReturnType<typeof setInterval>;
  private silentMs = 0;

  constructor(stream: MediaStream) {
    this.analyser.fftSize = this.samples.length;
    this.context.createMediaStreamSource(stream).connect(this.analyser);
    this.timer = setInterval(() => this.paused || this.measure(), INTERVAL_MS);
  }

  end(): void {
    clearInterval(this.timer);
    void this.context.close();
  }

  private measure(): void {
    this.analyser.getFloatTimeDomainData(this.samples);
    const loudness = Math.sqrt(this.samples.reduce((sum, sample) => sum + sample * sample, 0) / this.samples.length);
    this.levels.push(levelOf(loudness));
    if (this.levels.length > KEPT) this.levels.shift();
    this.silentMs = loudness < SILENCE ? this.silentMs + INTERVAL_MS : 0;
    this.silent.value = this.silentMs >= SILENT_MS;
  }
}

/** From −60 dB to 0 dB on a straight line, as ears hear it. */
function levelOf(loudness: number): number {
  const decibels = 20 * Math.log10(Math.max(loudness, 1e-6));
  return Math.min(1, Math.max(0, (decibels + 60) / 60));
}
