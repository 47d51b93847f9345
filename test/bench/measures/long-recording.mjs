import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { alternate, median, ratio } from '../lib/load.mjs';
import { bareEngine, SHORT_RECORDING, speech, transcribe, upload, warmUp } from '../lib/transcriptions.mjs';

const PAIRS = 3;
const SHORT_RECORDINGS = 5;
/** By then the long one fills all cores. */
const HEAD_START_MS = 3000;

/** A recording of ten minutes beside independent engines on its chunks, and short ones sent meanwhile. */
export async function measureLongRecording(stage, { pairs, longSeconds }) {
  const account = await stage.account();
  const service = await stage.service('api,worker');
  const long = join(stage.services.folder, 'long.ogg');
  const input = ['-stream_loop', '-1', '-i', speech('jfk.wav'), '-t', `${longSeconds}`];
  await promisify(execFile)('ffmpeg', ['-v', 'error', ...input, '-c:a', 'libopus', '-b:a', '24k', long]);
  await warmUp(stage, service, account);

  const ours = () => transcribe(stage, service, account, [long]);
  const theirs = async () => (await bareEngine([long], { chunks: true })).seconds;
  const [a, b] = await alternate(Math.min(pairs, PAIRS), ours, theirs);

  const idle = await transcribe(stage, service, account, [SHORT_RECORDING]);
  const longId = await upload(service, account, long);
  await sleep(HEAD_START_MS);
  const waits = [];
  for (let i = 0; i < SHORT_RECORDINGS; i++)
    waits.push((await transcribe(stage, service, account, [SHORT_RECORDING])) - idle);
  const [{ status }] = await stage.sql('SELECT status FROM recordings WHERE id = $1', [longId]);
  if (status !== 'processing') throw new Error('the long recording ended before the short ones');
  const { engineSeconds } = await bareEngine([long], { chunks: true });
  const chunkSeconds = (engineSeconds / longSeconds) * 15;
  return [
    {
      what: `a recording of ${longSeconds / 60} min / one engine per core`,
      value: ratio(b, a),
      target: 0.9,
      figures: `${median(a).toFixed(1)} against ${median(b).toFixed(1)} s`,
    },
    {
      what: 'short recordings sent meanwhile wait, in chunks',
      value: median(waits) / chunkSeconds,
      target: 1,
      atMost: true,
      figures: `${median(waits).toFixed(2)} s, a chunk takes ${chunkSeconds.toFixed(2)} s`,
    },
  ];
}
