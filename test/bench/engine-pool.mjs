// The memory and the speed of an engine with as many chunks at once as it takes. After npm run build:
//   SHERPA_MODEL=/path/to/model node test/bench/engine-pool.mjs sherpa FILE.wav [SECONDS]
//   OPENAI_BASE_URL=http://127.0.0.1:8080/v1 node test/bench/engine-pool.mjs openai FILE.wav [SECONDS] [PID]
// FILE is 16 kHz mono 16-bit WAV and is repeated up to SECONDS (600). PID is that of the transcription server.
import { readFileSync } from 'node:fs';

import { selectEngine } from '../../dist/modules/transcriptions/engines/engine-registry.js';
import { readEnv } from '../../dist/platform/config/env.js';
import { cpuSeconds, residentMb } from './lib/cpu.mjs';

const BYTES_PER_SECOND = 32_000;
const HEADER_BYTES = 44;
const MAX_CHUNK_SECONDS = 29;

const [name, file, seconds = '600', server] = process.argv.slice(2);
const env = readEnv({
  NODE_ENV: 'test',
  DATABASE_URL: 'postgres://unused',
  REDIS_URL: 'redis://unused',
  SECRET_KEY: 'k'.repeat(32),
  ...process.env,
  TRANSCRIPTION_ENGINE: name,
});
const engine = selectEngine(env, []).create(env);
const options = { language: null, vocabulary: [], signal: new AbortController().signal };
// The pipes of idle processes keep nothing alive.
const alive = setInterval(() => undefined, 1000);

const problem = await engine.problem();
if (problem !== null) throw new Error(problem);
const chunks = chunksOf(file, Math.min(engine.maxChunkSeconds, MAX_CHUNK_SECONDS));
const audioSeconds = chunks.reduce((sum, pcm) => sum + pcm.length, 0) / BYTES_PER_SECOND;
// One chunk for each process, so that all are loaded.
await Promise.all(
  Array.from({ length: engine.concurrency }, () => engine.transcribe({ pcm: chunks[0], start: 0 }, options)),
);
const pid = Number(server ?? process.pid);
const cpuBefore = cpuSeconds(pid);
const startedAt = performance.now();
const queue = [...chunks];
await Promise.all(
  Array.from({ length: engine.concurrency }, async () => {
    for (let pcm = queue.shift(); pcm !== undefined; pcm = queue.shift())
      await engine.transcribe({ pcm, start: 0 }, options);
  }),
);
const wall = (performance.now() - startedAt) / 1000;
const cpu = cpuSeconds(pid) - cpuBefore;
console.log(
  JSON.stringify({
    engine: engine.name,
    model: engine.model,
    atOnce: engine.concurrency,
    audioSeconds,
    cpuPerAudioSecond: Number((cpu / audioSeconds).toFixed(5)),
    wallPerAudioSecond: Number((wall / audioSeconds).toFixed(5)),
    // Of this process, then of its children; or of the server.
    residentMb: residentMb(pid),
  }),
);
await engine.close();
clearInterval(alive);

function chunksOf(wav, chunkSeconds) {
  const pcm = readFileSync(wav).subarray(HEADER_BYTES);
  const repeated = Buffer.concat(
    Array.from({ length: Math.ceil((Number(seconds) * BYTES_PER_SECOND) / pcm.length) }, () => pcm),
  );
  const bytes = chunkSeconds * BYTES_PER_SECOND;
  return Array.from({ length: Math.ceil(repeated.length / bytes) }, (_, index) =>
    repeated.subarray(index * bytes, (index + 1) * bytes),
  );
}
