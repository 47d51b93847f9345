import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { alternate, median, ratio } from '../lib/load.mjs';
import { bareEngine, SHORT_NOTE, speech, transcribe, upload, warmUp } from '../lib/notes.mjs';

const PAIRS = 3;
const SHORT_NOTES = 5;
/** By then the long one fills all cores. */
const HEAD_START_MS = 3000;

/** A note of ten minutes beside independent engines on its pieces, and short ones sent meanwhile. */
export async function measureLongNote(stage, { pairs, longNoteSeconds }) {
  const account = await stage.account();
  const service = await stage.service('api,worker');
  const long = join(stage.services.folder, 'long.ogg');
  const input = ['-stream_loop', '-1', '-i', speech('jfk.wav'), '-t', `${longNoteSeconds}`];
  await promisify(execFile)('ffmpeg', ['-v', 'error', ...input, '-c:a', 'libopus', '-b:a', '24k', long]);
  await warmUp(stage, service, account);

  const ours = () => transcribe(stage, service, account, [long]);
  const theirs = async () => (await bareEngine([long], { chunks: true })).seconds;
  const [a, b] = await alternate(Math.min(pairs, PAIRS), ours, theirs);

  const idle = await transcribe(stage, service, account, [SHORT_NOTE]);
  const longId = await upload(service, account, long);
  await sleep(HEAD_START_MS);
  const waits = [];
  for (let i = 0; i < SHORT_NOTES; i++) waits.push((await transcribe(stage, service, account, [SHORT_NOTE])) - idle);
  const [{ status }] = await stage.sql('SELECT status FROM recordings WHERE id = $1', [longId]);
  if (status !== 'processing') throw new Error('the long note was over before the short ones');
  const { engineSeconds } = await bareEngine([long], { chunks: true });
  const pieceSeconds = (engineSeconds / longNoteSeconds) * 15;
  return [
    {
      what: `a note of ${longNoteSeconds / 60} min / one engine per core`,
      value: ratio(b, a),
      target: 0.9,
      figures: `${median(a).toFixed(1)} against ${median(b).toFixed(1)} s`,
    },
    {
      what: 'short notes sent meanwhile wait: pieces of it',
      value: median(waits) / pieceSeconds,
      target: 1,
      atMost: true,
      figures: `${median(waits).toFixed(2)} s, a piece takes ${pieceSeconds.toFixed(2)} s`,
    },
  ];
}
