import os from 'node:os';
import type { ChildMessage, ChildRequest } from '../children/engine-child.js';
import { PocketSphinx } from './pocketsphinx.binding.js';

/** Recognition uses every core: the API and the database on the same machine get the CPU first. */
const NICENESS = 5;

os.setPriority(NICENESS);
// A terminal's Ctrl-C or a service manager's stop reaches the whole process group. The parent finishes its chunks and
// then ends this process.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('disconnect', () => process.exit());

function send(message: ChildMessage): void {
  process.send?.(message);
}

function serve(): void {
  try {
    const recogniser = new PocketSphinx();
    process.on('message', ({ pcm }: ChildRequest) => send({ transcript: recogniser.transcribe(pcm) }));
    send({ ready: true });
  } catch (error) {
    send({ problem: error instanceof Error ? error.message : String(error) });
  }
}

serve();
