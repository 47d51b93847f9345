// Runs the steps in Node, Deno and Bun. The setup is in a file beside it.
import { readFileSync, writeSync } from 'node:fs';
import { runSteps } from './steps.mjs';

const setup = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const results = await runSteps({ ...setup, audio: new Uint8Array(readFileSync(setup.path)) });
// The process must end by itself at once: nothing of the client may hold it.
writeSync(1, JSON.stringify({ results, endedAt: Date.now() }));
