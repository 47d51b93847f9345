import { type Colour, type Paint, paintFor } from './colours.js';
import { type Column, tableOf } from './table.js';
import { printable } from './text-width.js';

export interface OutputOptions {
  json?: boolean | undefined;
  color?: boolean | undefined;
}

/**
 * What a command says. Its result goes to standard output, everything else to standard error. With `--json` standard
 * output has one JSON document, or a JSON value on each line of what is streamed, and nothing else.
 */
export class Output {
  readonly json: boolean;
  readonly paint: Paint;
  private readonly paintError: Paint;

  constructor({ json, color }: OutputOptions) {
    this.json = json ?? false;
    this.paint = paintFor(process.stdout, color ?? true);
    this.paintError = paintFor(process.stderr, color ?? true);
  }

  /** Whether a person reads the result on a terminal. */
  get forPeople(): boolean {
    return process.stdout.isTTY;
  }

  /** Null where nothing needs to fit. */
  get width(): number | null {
    return this.forPeople ? (process.stdout.columns ?? 80) : null;
  }

  /** Lines for people. Nothing with `--json`. */
  print(text: string): void {
    if (!this.json) this.write(`${text}\n`);
  }

  /** Text as it is, such as a subtitle file. */
  raw(text: string): void {
    const complete = text === '' || text.endsWith('\n') ? text : `${text}\n`;
    this.write(this.forPeople ? printable(complete) : complete);
  }

  table<T>(rows: readonly T[], columns: readonly Column<T>[]): void {
    this.print(tableOf(rows, columns, this.width, this.paint));
  }

  /** The one document of `--json`. */
  document(value: unknown): void {
    if (this.json) this.write(`${JSON.stringify(value, null, this.forPeople ? 2 : undefined)}\n`);
  }

  /** One of several JSON values, each on a line. */
  jsonLine(value: unknown): void {
    if (this.json) this.write(`${JSON.stringify(value)}\n`);
  }

  /** For people, beside the result. Nothing with `--json`. */
  note(text: string): void {
    if (!this.json) process.stderr.write(`${text}\n`);
  }

  warn(text: string): void {
    process.stderr.write(`${this.paintError('yellow', 'Warning:')} ${text}\n`);
  }

  error(text: string): void {
    process.stderr.write(`${this.paintError('red', 'Error:')} ${text}\n`);
  }

  /** For standard error. */
  paintNote(colour: Colour, text: string): string {
    return this.paintError(colour, text);
  }

  private write(text: string): void {
    process.stdout.write(text);
  }
}
