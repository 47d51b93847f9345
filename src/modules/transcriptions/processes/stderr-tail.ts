import type { Readable } from 'node:stream';

/** Enough for the last few messages of a program. */
const TAIL_BYTES = 2_048;

/**
 * Keeps the end of what a child process writes to its standard error, for error messages.
 * @returns a function that reads it.
 */
export function keepStderrTail(stderr: Readable | null): () => string {
  let tail = Buffer.alloc(0);
  stderr?.on('data', (data: Buffer) => {
    tail = Buffer.concat([tail, data]).subarray(-TAIL_BYTES);
  });
  return () => tail.toString('utf8');
}
