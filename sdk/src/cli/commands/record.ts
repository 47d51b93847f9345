import { mkdir, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { CliError } from '../cli-error.js';
import type { Context } from '../context.js';
import { beforeEnd, onInterrupt } from '../ending.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { stateFolder } from '../profiles/folders.js';
import { findRecorder, type Recorder, startRecorder } from '../recording/recorder.js';
import { bytes, duration } from '../terminal/format.js';
import { findInputs } from '../uploads/audio-input.js';
import { UploadRun, type UploadCommandOptions } from './upload.js';

interface RecordOptions extends UploadCommandOptions {
  seconds?: number;
  device?: string;
  keep?: string;
}

const CLOCK_MS = 250;

/** Records until Enter, Ctrl-C or the time, then uploads. The audio stays on this machine until the service has it. */
export async function record(context: Context, options: RecordOptions): Promise<ExitCode> {
  const { output } = context;
  // Without a session this is said before the person speaks.
  const client = await context.client({ maxRetries: 10 });
  const recorder = await findRecorder(options.device);
  const folder = join(stateFolder(), 'recordings');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const name = `memo-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}.${recorder.extension}`;
  const file = options.keep === undefined ? join(folder, name) : resolve(options.keep);
  await capture(context, recorder, file, options.seconds);

  const [input] = await findInputs([file], options.filename);
  if (!input) return EXIT.failure;
  const code = await new UploadRun(context, client, options, [{ ...input, label: input.filename }]).all();
  if (code !== EXIT.ok) {
    output.note(`The recording is in ${file}. To send it: vnotes upload ${file}`);
    return code;
  }
  if (options.keep === undefined) await rm(file, { force: true });
  return code;
}

async function capture(context: Context, recorder: Recorder, file: string, wanted?: number): Promise<void> {
  const { output } = context;
  const seconds = Math.min(wanted ?? recorder.maxSeconds, recorder.maxSeconds);
  output.note(`Recording with ${recorder.name}. ${process.stdin.isTTY ? 'Enter or ' : ''}Ctrl-C stops.`);
  const startedAt = Date.now();
  const recording = startRecorder(recorder, file);
  const release = onInterrupt(() => recording.stop());
  const forget = beforeEnd(() => recording.stop());
  const lines = process.stdin.isTTY
    ? createInterface({ input: process.stdin }).once('line', () => recording.stop())
    : null;
  const limit = setTimeout(() => recording.stop(), seconds * 1000);
  const clock = process.stderr.isTTY && !output.json ? setInterval(() => showTime(startedAt), CLOCK_MS) : null;
  try {
    await recording.ended;
  } finally {
    clearTimeout(limit);
    if (clock) clearInterval(clock);
    lines?.close();
    release();
    forget();
  }
  if (clock) process.stderr.write('\r\u001b[K');
  const size = (await stat(file).catch(() => null))?.size ?? 0;
  if (size === 0) throw new CliError(`${recorder.name} recorded nothing. ${recording.complaint()}`.trim());
  output.note(`Recorded ${duration((Date.now() - startedAt) / 1000)} (${bytes(size)}).`);
}

function showTime(startedAt: number): void {
  process.stderr.write(`\r● ${duration((Date.now() - startedAt) / 1000)} `);
}
