// A process of `npm run dev`: loads the packages, which takes most of the time of a start, and waits for its turn.
import { readFileSync } from 'node:fs';

/** Loaded by the service only when they are needed. */
const ON_DEMAND = new Set(['@aws-sdk/client-s3', 'koffi']);

const { dependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const packages = Object.keys(dependencies).filter((name) => !ON_DEMAND.has(name));

const turn = new Promise((resolve) => process.once('message', resolve));
process.once('disconnect', () => process.exit());
for (const name of packages) await import(name);
await turn;
process.removeAllListeners('disconnect');
process.disconnect();
await import('../dist/commands/migrate.js');
await import('../dist/main.js');
