import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ROOT } from '../../../scripts/lib/paths.mjs';
import { formOf, post } from './uploads.mjs';

const POLL_MS = 50;

/** @param {string} name of a fixture */
export const speech = (name) => join(ROOT, 'test/fixtures/speech', name);

/** Three seconds. */
export const SHORT_RECORDING = speech('ss-0880.wav');

/** @returns {Promise<string>} path of a recording of this length, which is one sentence over and over */
export async function repeated(stage, seconds) {
  const file = join(stage.services.folder, `${seconds}.ogg`);
  const input = ['-stream_loop', '-1', '-i', speech('jfk.wav'), '-t', `${seconds}`];
  await promisify(execFile)('ffmpeg', ['-v', 'error', ...input, '-c:a', 'libopus', '-b:a', '24k', file]);
  return file;
}

/** @returns {Promise<string>} id */
export async function upload(service, account, file) {
  const body = formOf(readFileSync(file), file.split('/').at(-1));
  const answer = await post(`${service.url}/v1/recordings`, { headers: account.headers, body });
  if (answer.status !== 201) throw new Error(`${file}: ${answer.status} ${answer.body}`);
  return JSON.parse(answer.body).id;
}

/** @returns {Promise<number>} seconds from the first upload until all are transcribed */
export async function transcribe(stage, service, account, files) {
  const startedAt = performance.now();
  const ids = await Promise.all(files.map((file) => upload(service, account, file)));
  for (;;) {
    const [{ open, failed }] = await stage.sql(
      `SELECT count(*) FILTER (WHERE status = 'processing')::int AS open, count(*) FILTER (WHERE status = 'failed')::int AS failed
       FROM recordings WHERE id = ANY ($1)`,
      [ids],
    );
    if (failed > 0) throw new Error(`${failed} of ${files.length} recordings failed`);
    if (open === 0) return (performance.now() - startedAt) / 1000;
    await sleep(POLL_MS);
  }
}

/** Every engine has loaded when this resolves. */
export async function warmUp(stage, service, account) {
  await transcribe(stage, service, account, Array(2 * availableParallelism()).fill(SHORT_RECORDING));
}

/**
 * The same ffmpeg and engine with nothing around them.
 * @returns {Promise<{ seconds: number, cpuSeconds: number, engineSeconds: number }>} elapsed; of all processes; and
 *   the sum of what the engines alone took
 */
export async function bareEngine(files, { chunks = false } = {}) {
  const script = join(ROOT, 'test/bench/baselines/bare-engine.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...(chunks ? ['--chunks'] : []), ...files], {
    cwd: ROOT,
  });
  return JSON.parse(stdout);
}
