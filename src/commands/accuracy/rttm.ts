import { readFile } from 'node:fs/promises';
import { AccuracyError } from './manifest.js';

/** A speaker from `start` to `end`, in seconds. */
export interface SpokenTurn {
  speaker: string;
  start: number;
  end: number;
}

/**
 * The lines of the type SPEAKER of a file in the form RTTM, by recording.
 * @throws AccuracyError that names the line
 */
export async function readRttm(file: string): Promise<Map<string, SpokenTurn[]>> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new AccuracyError(`Cannot read ${file} (${error.code ?? error.message})`);
  });
  return parseRttm(text, file);
}

/** @throws AccuracyError that names the line */
export function parseRttm(text: string, name: string): Map<string, SpokenTurn[]> {
  const recordings = new Map<string, SpokenTurn[]>();
  for (const [index, line] of text.split('\n').entries()) {
    const [type, recording = '', , start, duration, , , speaker] = line.trim().split(/\s+/);
    if (type !== 'SPEAKER') continue;
    const [from, length] = [Number(start), Number(duration)];
    if (!(from >= 0 && length >= 0) || speaker === undefined) {
      throw new AccuracyError(`${name}, line ${index + 1}: not SPEAKER file channel start duration <NA> <NA> name`);
    }
    const turns = recordings.get(recording) ?? [];
    if (length > 0) turns.push({ speaker, start: from, end: from + length });
    recordings.set(recording, turns);
  }
  return recordings;
}

export function formatRttm(recording: string, turns: readonly SpokenTurn[]): string {
  return turns
    .map(({ speaker, start, end }) => {
      const times = `${start.toFixed(3)} ${(end - start).toFixed(3)}`;
      return `SPEAKER ${recording} 1 ${times} <NA> <NA> ${speaker} <NA> <NA>\n`;
    })
    .join('');
}
