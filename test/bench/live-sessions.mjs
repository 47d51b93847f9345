// Live sessions beside a queue of uploads. After npm run build, on a machine without other work:
//   node test/bench/live-sessions.mjs [SECONDS] [SESSIONS,…]
// For SECONDS (60) each: uploads alone, so many sessions alone (8), and both, with one transcriber and one API process. Everybody
// in a session speaks all the time. Prints, as JSON lines,
//   transcribed: seconds of uploaded audio that were transcribed in a second;
//   words of the sessions, the share of them that came while they were spoken, and the distribution of their delays in seconds;
//   cpu: seconds a second of the API process, the transcriber, its processes for sessions and those for files, and Postgres;
//     files that were begun before count while sessions are alone;
//   memory: resident, in MB, of the transcriber and its processes.
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { cpuSecondsBy, residentMb } from './lib/cpu.mjs';
import { BYTES_PER_SECOND, distribution, pause, samplesOf, Speaker, storedFinals, WordSignals } from './lib/live.mjs';
import { Stage } from './lib/stage.mjs';
import { speech, upload, warmUp } from './lib/transcriptions.mjs';

const FILE_SECONDS = 11;
/** More than two cores transcribe. */
const UPLOADS_PER_SECOND = 1.2;
/** Before the clock starts. */
const HEAD_START_MS = 3000;

const [seconds = '60', sessions = '8'] = process.argv.slice(2);
const spoken = Buffer.concat([samplesOf(speech('jfk.wav')), pause(0.3)]);

const stage = await Stage.open();
const signals = await WordSignals.open(stage);
try {
  const [account, other] = [await stage.account(), await stage.account()];
  const api = await stage.service('api');
  const worker = await stage.service('transcriber', { LIVE_SESSIONS: '100' });
  const [{ folder }] = await stage.sql(`SELECT current_setting('data_directory') AS folder`);
  const postmaster = Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
  await warmUp(stage, api, account);
  const alone = await measure(0, true);
  report('uploads alone', alone);
  for (const count of sessions.split(',').map(Number)) {
    report(`${count} sessions alone`, await measure(count, false));
    const both = await measure(count, true);
    report(`${count} sessions and uploads`, both);
  }

  async function measure(count, withUploads) {
    if (withUploads) await fillQueue();
    const speakers = await Promise.all(Array.from({ length: count }, () => Speaker.open(api.url, other)));
    await sleep(HEAD_START_MS);
    const [cpuBefore, beganAt] = [cpuNow(), performance.now()];
    const before = await transcribedSeconds();
    const audio = Buffer.concat(
      Array.from({ length: Math.ceil((Number(seconds) * BYTES_PER_SECOND) / spoken.length) }, () => spoken),
    );
    const speaking = speakers.map((speaker, i) =>
      // Not all at the same word.
      sleep((i * FILE_SECONDS * 1000) / Math.max(1, count)).then(() => speaker.speak(audio)),
    );
    await sleep(Number(seconds) * 1000);
    const elapsed = (performance.now() - beganAt) / 1000;
    const cpu = Object.entries(cpuNow()).map(([name, used]) => [name, round((used - cpuBefore[name]) / elapsed)]);
    const transcribed = round(((await transcribedSeconds()) - before) / elapsed);
    const memory = residentMb(worker.pid);
    await Promise.all(speaking);
    await Promise.all(speakers.map((speaker) => speaker.finish().catch((error) => console.error(error.message))));
    const delays = [];
    for (const speaker of speakers) {
      const finals = await storedFinals(stage, speaker.recordingId);
      delays.push(...speaker.delays(finals, signals.deltas(speaker.recordingId)));
    }
    await emptyQueue();
    return { transcribed, cpu: Object.fromEntries(cpu), delays, memory };
  }

  function cpuNow() {
    const own = (pid) => cpuSecondsBy(pid, (command, each) => each === pid);
    const engines = (isLive) =>
      cpuSecondsBy(
        worker.pid,
        (command, pid) => pid !== worker.pid && command.includes('pocketsphinx-live') === isLive,
      );
    return {
      api: own(api.pid),
      transcriber: own(worker.pid),
      sessions: engines(true),
      files: engines(false),
      postgres: cpuSecondsBy(postmaster, () => true),
    };
  }

  async function fillQueue() {
    for (let i = 0; i < Number(seconds) * UPLOADS_PER_SECOND; i++) await upload(api, account, speech('jfk.wav'));
  }

  async function emptyQueue() {
    await stage.sql(`DELETE FROM recordings WHERE status = 'processing' OR account_id = $1`, [other.id]);
    await sleep(HEAD_START_MS);
  }

  async function transcribedSeconds() {
    const [{ count }] = await stage.sql(
      `SELECT count(*)::int FROM recordings WHERE account_id = $1 AND status = 'transcribed'`,
      [account.id],
    );
    return count * FILE_SECONDS;
  }
} finally {
  signals.close();
  await stage.close();
}

function round(value) {
  return Number(value.toFixed(2));
}

function report(what, { transcribed, cpu, delays, memory }) {
  const partial = delays.filter(({ isPartial }) => isPartial);
  const figures = {
    transcribed,
    cpu,
    ...(delays.length > 0 && {
      whileSpoken: round(partial.length / delays.length),
      all: distribution(delays.map(({ delay }) => delay)),
      partial: distribution(partial.map(({ delay }) => delay)),
    }),
    memory,
    load: loadavg()[0],
  };
  console.log(JSON.stringify({ what, ...figures }));
}
