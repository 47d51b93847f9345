import type { Output } from '../terminal/output.js';
import { bytes } from '../terminal/format.js';
import { fit, oneLine, padEnd } from '../terminal/text-width.js';

const REDRAW_MS = 100;
const NAME_WIDTH = 28;
const BAR_WIDTH = 24;
/** Goes up a line and clears from there. */
const UP_AND_CLEAR = '\u001b[1A\u001b[0J';

/** One file that is under way. */
export interface ProgressLine {
  update(change: { sent?: number; state?: string }): void;
  done(): void;
}

interface Line {
  label: string;
  total: number;
  sent: number;
  state: string;
}

/** A bar for each file under way, at the bottom of the terminal. Without a terminal a plain line when one begins. */
export class ProgressBoard {
  private readonly lines = new Set<Line>();
  private readonly isTerminal = process.stderr.isTTY && process.env.TERM !== 'dumb';
  private drawn = 0;
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly output: Output) {}

  add(label: string, total: number): ProgressLine {
    const line = { label: oneLine(label), total, sent: 0, state: 'uploading' };
    this.lines.add(line);
    if (!this.isTerminal && total > 0) this.output.note(`Uploading ${line.label} (${bytes(total)}).`);
    this.schedule();
    return {
      update: (change) => {
        Object.assign(line, change);
        this.schedule();
      },
      done: () => {
        this.lines.delete(line);
        this.schedule();
      },
    };
  }

  /** Prints above the bars. */
  above(print: () => void): void {
    this.clear();
    print();
    this.schedule();
  }

  /** Removes the bars. */
  stop(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    this.clear();
    this.lines.clear();
  }

  private schedule(): void {
    if (!this.isTerminal || this.output.json) return;
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.draw();
    }, REDRAW_MS);
  }

  private draw(): void {
    const width = (process.stderr.columns ?? 80) - 1;
    const shown = [...this.lines].slice(0, Math.max(1, (process.stderr.rows ?? 24) - 2));
    const text = shown.map((line) => `${fit(this.textOf(line), width)}\n`).join('');
    process.stderr.write(this.clearing() + text);
    this.drawn = shown.length;
  }

  private clear(): void {
    if (this.drawn > 0) process.stderr.write(this.clearing());
    this.drawn = 0;
  }

  private clearing(): string {
    return UP_AND_CLEAR.repeat(this.drawn);
  }

  private textOf({ label, total, sent, state }: Line): string {
    const name = padEnd(fit(label, NAME_WIDTH), NAME_WIDTH);
    if (state !== 'uploading') return `${name}  ${state}`;
    const part = total === 0 ? 0 : Math.min(1, sent / total);
    const filled = Math.round(part * BAR_WIDTH);
    const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
    const percent = `${Math.floor(part * 100)}`.padStart(3);
    return `${name}  ${bar} ${percent} %  ${bytes(sent)} of ${bytes(total)}`;
  }
}
