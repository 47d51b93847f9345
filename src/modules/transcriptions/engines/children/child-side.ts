import { writeSync } from 'node:fs';
import type { ChunkTranscript } from '../transcription-engine.js';
import { type ChildMessage, LENGTH_BYTES, MESSAGE_DESCRIPTOR } from './child-messages.js';

/**
 * Runs in the child process: creates the recogniser, then transcribes every chunk that its parent sends until the parent
 * ends or closes the pipe.
 * @param create may throw an error that says what is missing
 */
export function serveChunks(create: () => { transcribe(pcm: Uint8Array): ChunkTranscript }): void {
  try {
    const recogniser = create();
    receiveChunks((pcm) => send({ transcript: recogniser.transcribe(pcm) }));
    send({ ready: true });
  } catch (error) {
    send({ problem: error instanceof Error ? error.message : String(error) });
  }
}

function receiveChunks(receive: (pcm: Uint8Array) => void): void {
  let parts: Buffer[] = [];
  let length = 0;
  process.stdin.on('data', (data: Buffer) => {
    parts.push(data);
    length += data.length;
    for (;;) {
      // The length may be split too.
      if (length >= LENGTH_BYTES && (parts[0]?.length ?? 0) < LENGTH_BYTES) parts = [Buffer.concat(parts)];
      const end = length < LENGTH_BYTES ? Infinity : LENGTH_BYTES + (parts[0]?.readUInt32LE() ?? 0);
      if (length < end) return;
      const bytes = Buffer.concat(parts);
      parts = [bytes.subarray(end)];
      length -= end;
      receive(bytes.subarray(LENGTH_BYTES, end));
    }
  });
  process.stdin.on('end', () => process.exit());
}

function send(message: ChildMessage): void {
  writeSync(MESSAGE_DESCRIPTOR, `${JSON.stringify(message)}\n`);
}
