import os from 'node:os';
import type { ChildMessage, ChildRequest } from '../children/engine-child.js';
import { PocketSphinx } from './pocketsphinx.binding.js';

/** Recognition fills every core: the API and the database on the same machine go first. */
const NICENESS = 5;

os.setPriority(NICENESS);
// A terminal's Ctrl-C and a service manager's stop reach the whole group: the parent finishes its pieces and then ends us.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('disconnect', () => process.exit());

function say(message: ChildMessage): void {
  process.send?.(message);
}

function serve(): void {
  try {
    const recogniser = new PocketSphinx();
    process.on('message', ({ pcm }: ChildRequest) => say({ transcript: recogniser.recognise(pcm) }));
    say({ ready: true });
  } catch (error) {
    say({ problem: error instanceof Error ? error.message : String(error) });
  }
}

serve();
