/** Where progress is written: a terminal, on which a line can be written over, or a file. */
export interface ProgressOutput {
  isTTY?: boolean;
  write(text: string): unknown;
}

/** Long enough to even out bursts, short enough to show a change. */
const RATE_WINDOW_MS = 5000;
const SAMPLE_MS = 100;
const REDRAW_MS = 200;

/** Shows a download: on a terminal one line that changes, elsewhere a line for every tenth. */
export class ProgressLines {
  private samples: { at: number; received: number }[] = [];
  private shownAt = -Infinity;
  private shownTenth = -1;
  private isOpen = false;

  constructor(
    private readonly label: string,
    private readonly output: ProgressOutput,
    private readonly now: () => number = () => performance.now(),
  ) {}

  update(received: number, total: number): void {
    const at = this.now();
    this.sample(at, received);
    if (this.output.isTTY) {
      if (at - this.shownAt < REDRAW_MS && received < total) return;
      this.shownAt = at;
      this.isOpen = true;
      this.output.write(`\r\u001B[2K${this.line(received, total)}`);
      return;
    }
    const tenth = total === 0 ? 10 : Math.floor((received / total) * 10);
    if (tenth === this.shownTenth) return;
    this.shownTenth = tenth;
    this.output.write(`${this.line(received, total)}\n`);
  }

  /** A message of its own, between the lines of progress. */
  say(message: string): void {
    this.end();
    this.output.write(`  ${message}\n`);
  }

  end(): void {
    if (this.isOpen) this.output.write('\r\u001B[2K');
    this.isOpen = false;
  }

  private line(received: number, total: number): string {
    const percent = total === 0 ? 100 : Math.floor((received / total) * 100);
    const parts = [`${String(percent).padStart(3)} %`, `${formatBytes(received)} of ${formatBytes(total)}`];
    const rate = this.rate();
    if (rate > 0 && received < total) {
      parts.push(`${formatBytes(rate)}/s`, `${formatSeconds((total - received) / rate)} left`);
    }
    return `  ${this.label.padEnd(14)}${parts.join('   ')}`;
  }

  private sample(at: number, received: number): void {
    if (at - (this.samples.at(-1)?.at ?? -Infinity) < SAMPLE_MS) return;
    this.samples = [...this.samples.filter((sample) => at - sample.at <= RATE_WINDOW_MS), { at, received }];
  }

  /** Bytes a second; 0 while too little is known. */
  private rate(): number {
    const [oldest] = this.samples;
    const newest = this.samples.at(-1);
    if (!oldest || !newest || newest.at === oldest.at) return 0;
    return Math.max(((newest.received - oldest.received) / (newest.at - oldest.at)) * 1000, 0);
  }
}

export function formatBytes(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(2)} GB`;
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(bytes >= 1e8 ? 0 : 1)} MB`;
  return `${Math.ceil(bytes / 1000)} kB`;
}

function formatSeconds(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
