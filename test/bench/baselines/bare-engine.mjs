// The same ffmpeg and engine on the same files without the service: one process per core takes the next task as soon as
// it has finished one.
//   node bare-engine.mjs FILE…           a task is a file: decode it and transcribe its chunks
//   node bare-engine.mjs --chunks FILE   a task is a chunk of that file
import { execFile, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { cpuSeconds } from '../lib/cpu.mjs';

const DEMUXER = { webm: 'matroska', mp3: 'mp3', ogg: 'ogg', wav: 'wav' };
const MAX_PCM_BYTES = 1 << 30;
const CHUNK_SECONDS = 15;

if (process.send) await transcribe();
else await share(process.argv.slice(2));

async function share(args) {
  const cores = Array.from({ length: availableParallelism() }, startCore);
  for (const core of cores) await core.next();
  const startedAt = performance.now();
  const cpuBefore = cpuSeconds(process.pid);
  const queue = args[0] === '--chunks' ? await chunksOf(args[1]) : args;
  let engineSeconds = 0;
  await Promise.all(
    cores.map(async (core) => {
      for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
        // In two steps: `+= await` would add to the sum as it was before the wait, and lose what the other cores added.
        const taken = await core.next(task);
        engineSeconds += taken;
      }
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(JSON.stringify({ seconds, cpuSeconds: cpuSeconds(process.pid) - cpuBefore, engineSeconds }));
  for (const core of cores) core.end();
}

/** `next` sends a task and resolves with its seconds; without a task it resolves when the engine has loaded. */
function startCore() {
  const child = fork(fileURLToPath(import.meta.url), { serialization: 'advanced' });
  const next = (task) =>
    new Promise((resolve) => {
      child.once('message', resolve);
      if (task !== undefined) child.send(task);
    });
  return { next, end: () => child.disconnect() };
}

async function transcribe() {
  const { PocketSphinx } = await import('../../../dist/modules/transcriptions/engines/pocketsphinx.binding.js');
  const engine = new PocketSphinx();
  const perform = async (task) => {
    const chunks = typeof task === 'string' ? await chunksOf(task) : [task];
    const startedAt = performance.now();
    for (const pcm of chunks) engine.transcribe(pcm);
    process.send((performance.now() - startedAt) / 1000);
  };
  process.on('message', (task) => void perform(task));
  process.send('loaded');
}

async function chunksOf(file) {
  const { ChunkCutter } = await import('../../../dist/modules/transcriptions/audio/chunk-cutter.js');
  const { EnergyDetector } = await import('../../../dist/modules/transcriptions/speech/speech-detector.js');
  const cutter = new ChunkCutter(CHUNK_SECONDS, new EnergyDetector());
  const chunks = [];
  for await (const { pcm } of cutter.push(await decode(file))) chunks.push(pcm);
  for await (const { pcm } of cutter.end()) chunks.push(pcm);
  return chunks;
}

async function decode(file) {
  const input = ['-f', DEMUXER[file.split('.').at(-1)], '-i', `file:${file}`];
  const output = ['-map', '0:a:0', '-ac', '1', '-ar', '16000', '-c:a', 'pcm_s16le', '-f', 's16le', 'pipe:1'];
  const options = { encoding: 'buffer', maxBuffer: MAX_PCM_BYTES };
  const flags = ['-v', 'error', '-nostdin', '-threads', '1', ...input, ...output];
  return (await promisify(execFile)('ffmpeg', flags, options)).stdout;
}
