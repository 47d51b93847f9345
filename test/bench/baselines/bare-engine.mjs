// The same ffmpeg and the same engine on the same files, with nothing around them: a process for each core takes the
// next piece of work as soon as it has done one.
//   node bare-engine.mjs FILE…           work is a file: decode it, and hear it in pieces
//   node bare-engine.mjs --pieces FILE   work is a piece of that one file
import { execFile, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { cpuSeconds } from '../lib/cpu.mjs';

const DEMUXER = { webm: 'matroska', mp3: 'mp3', ogg: 'ogg', wav: 'wav' };
const MAX_PCM_BYTES = 1 << 30;
const PIECE_SECONDS = 15;
const DIST = '../../../dist/modules/transcriptions';

if (process.send) await hear();
else await share(process.argv.slice(2));

async function share(args) {
  const cores = Array.from({ length: availableParallelism() }, startCore);
  for (const core of cores) await core.next();
  const startedAt = performance.now();
  const cpuBefore = cpuSeconds(process.pid);
  const queue = args[0] === '--pieces' ? await piecesOf(args[1]) : args;
  let engineSeconds = 0;
  await Promise.all(
    cores.map(async (core) => {
      for (let work = queue.shift(); work !== undefined; work = queue.shift()) {
        const taken = await core.next(work);
        engineSeconds += taken;
      }
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(JSON.stringify({ seconds, cpuSeconds: cpuSeconds(process.pid) - cpuBefore, engineSeconds }));
  for (const core of cores) core.end();
}

/** `next` hands over a piece of work and resolves with the seconds it took; the first time, when the engine has loaded. */
function startCore() {
  const child = fork(fileURLToPath(import.meta.url), { serialization: 'advanced' });
  const next = (work) =>
    new Promise((resolve) => {
      child.once('message', resolve);
      if (work !== undefined) child.send(work);
    });
  return { next, end: () => child.disconnect() };
}

async function hear() {
  const { PocketSphinx } = await import(`${DIST}/engines/pocketsphinx/pocketsphinx.binding.js`);
  const engine = new PocketSphinx();
  const perform = async (work) => {
    const pieces = typeof work === 'string' ? await piecesOf(work) : [work];
    const startedAt = performance.now();
    for (const pcm of pieces) engine.recognise(pcm);
    process.send((performance.now() - startedAt) / 1000);
  };
  process.on('message', (work) => void perform(work));
  process.send('loaded');
}

async function piecesOf(file) {
  const { ChunkCutter } = await import(`${DIST}/chunks/chunk-cutter.js`);
  const cutter = new ChunkCutter(PIECE_SECONDS);
  const pcm = await decode(file);
  return [...cutter.push(pcm), ...cutter.end()].map((piece) => piece.pcm);
}

async function decode(file) {
  const input = ['-f', DEMUXER[file.split('.').at(-1)], '-i', `file:${file}`];
  const output = ['-map', '0:a:0', '-ac', '1', '-ar', '16000', '-c:a', 'pcm_s16le', '-f', 's16le', 'pipe:1'];
  const options = { encoding: 'buffer', maxBuffer: MAX_PCM_BYTES };
  const flags = ['-v', 'error', '-nostdin', '-threads', '1', ...input, ...output];
  return (await promisify(execFile)('ffmpeg', flags, options)).stdout;
}
