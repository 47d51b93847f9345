import { writeSync } from 'node:fs';
import os from 'node:os';
import type { ChunkTranscript } from '../transcription-engine.js';
import {
  type ChildMessage,
  type ChunkOptions,
  HEADER_BYTES,
  LENGTH_BYTES,
  MESSAGE_DESCRIPTOR,
} from './child-messages.js';

/** Recognition uses every core: the API and the database on the same machine get the CPU first. */
const NICENESS = 5;

export interface Recogniser {
  transcribe(pcm: Uint8Array, options: ChunkOptions): ChunkTranscript | Promise<ChunkTranscript>;
}

/**
 * Runs in the child process: creates the recogniser, then transcribes every chunk that its parent sends until the parent
 * ends or closes the pipe. A chunk that the recogniser cannot transcribe ends the process.
 * @param create may throw an error that says what is missing
 */
export async function serveChunks(create: () => Recogniser | Promise<Recogniser>): Promise<void> {
  // A service that was started with a lower priority still has it, and may not raise it.
  if (os.getPriority() < NICENESS) os.setPriority(NICENESS);
  // A terminal's Ctrl-C or a service manager's stop reaches the whole process group. The parent finishes its chunks and
  // then ends this process.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => undefined);
  try {
    const recogniser = await create();
    receiveChunks(async (pcm, options) => send({ transcript: await recogniser.transcribe(pcm, options) }));
    send({ ready: true });
  } catch (error) {
    send({ problem: error instanceof Error ? error.message : String(error) });
  }
}

/** The parent sends the next chunk when it has the transcript of the last. */
function receiveChunks(receive: (pcm: Uint8Array, options: ChunkOptions) => Promise<void>): void {
  let parts: Buffer[] = [];
  let length = 0;
  process.stdin.on('data', (data: Buffer) => {
    parts.push(data);
    length += data.length;
    // The header may be split too.
    if (length >= HEADER_BYTES && (parts[0]?.length ?? 0) < HEADER_BYTES) parts = [Buffer.concat(parts)];
    const optionsEnd = length < HEADER_BYTES ? Infinity : HEADER_BYTES + (parts[0]?.readUInt32LE(0) ?? 0);
    const end = optionsEnd === Infinity ? Infinity : optionsEnd + (parts[0]?.readUInt32LE(LENGTH_BYTES) ?? 0);
    if (length < end) return;
    const bytes = Buffer.concat(parts);
    [parts, length] = [[], 0];
    const options = JSON.parse(bytes.toString('utf8', HEADER_BYTES, optionsEnd)) as ChunkOptions;
    void receive(bytes.subarray(optionsEnd, end), options);
  });
  process.stdin.on('end', () => process.exit());
}

function send(message: ChildMessage): void {
  writeSync(MESSAGE_DESCRIPTOR, `${JSON.stringify(message)}\n`);
}
