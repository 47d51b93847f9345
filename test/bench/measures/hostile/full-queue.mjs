import { setTimeout as sleep } from 'node:timers/promises';
import { atLeast, atMost } from '../../lib/figures.mjs';
import { repeated, SHORT_RECORDING, transcribe, upload, warmUp } from '../../lib/transcriptions.mjs';

const RECORDINGS = 24;
const RECORDING_SECONDS = 160;
const SHORT_RECORDINGS = 5;
/** Between short recordings, so that each meets another moment of the long ones. */
const PAUSE_MS = 4000;

/** Seconds of audio in one recording of each of three accounts. */
const LENGTHS = [44, 22, 11];
/** For each of the three. */
const QUEUED_SECONDS = 880;
/** Of one of them, after which the three are compared. */
const SERVED_SECONDS = 528;
const POLL_MS = 50;

/** 24 long recordings of one account, and single short ones of another; then three accounts with full queues. */
export async function measureFullQueue(stage) {
  const [crowd, other] = [await stage.account(), await stage.account()];
  const service = await stage.service('api,worker');
  await warmUp(stage, service, crowd);
  const idle = await transcribe(stage, service, other, [SHORT_RECORDING]);

  const long = await repeated(stage, RECORDING_SECONDS);
  await Promise.all(Array.from({ length: RECORDINGS }, () => upload(service, crowd, long)));
  const waits = [];
  for (let i = 0; i < SHORT_RECORDINGS; i++) {
    await sleep(PAUSE_MS);
    waits.push(await transcribe(stage, service, other, [SHORT_RECORDING]));
  }
  const waiting = await countWaiting(stage, crowd);
  if (waiting < RECORDINGS / 2) throw new Error('the queue was almost empty before the last short recording came');
  await removeAll(stage, service, crowd);

  const served = await servedInTurn(stage, service);
  const seconds = waits.map((s) => s.toFixed(2)).join(', ');
  const figures = `${seconds} s, alone ${idle.toFixed(2)} s; ${waiting} of ${RECORDINGS} waited to the end`;
  const beside = `a short recording beside ${RECORDINGS} of ${RECORDING_SECONDS} s of another account: longest (s)`;
  const share = Math.min(...served) / Math.max(...served);
  return [
    atMost(5, beside, Math.max(...waits), figures),
    atLeast(
      0.8,
      'seconds of audio of three accounts with full queues: the least / the most',
      share,
      `${served.join(', ')} s`,
    ),
  ];
}

/** @returns {Promise<number[]>} seconds of audio that were transcribed for each of three accounts at the same time */
async function servedInTurn(stage, service) {
  const accounts = await Promise.all(LENGTHS.map(() => stage.account()));
  for (const [i, seconds] of LENGTHS.entries()) {
    const file = await repeated(stage, seconds);
    for (let queued = 0; queued < QUEUED_SECONDS; queued += seconds) await upload(service, accounts[i], file);
  }
  const before = await Promise.all(accounts.map((account) => transcribedSeconds(stage, account)));
  for (;;) {
    const now = await Promise.all(accounts.map((account) => transcribedSeconds(stage, account)));
    const served = now.map((seconds, i) => seconds - before[i]);
    if (Math.max(...served) >= SERVED_SECONDS) return served;
    await sleep(POLL_MS);
  }
}

async function countWaiting(stage, { id }) {
  const [{ count }] = await stage.sql(
    `SELECT count(*)::int FROM recordings WHERE account_id = $1 AND status = 'processing'`,
    [id],
  );
  return count;
}

async function transcribedSeconds(stage, { id }) {
  const [{ ms }] = await stage.sql(
    `SELECT coalesce(sum(duration_ms), 0)::int AS ms FROM recordings WHERE account_id = $1 AND status = 'transcribed'`,
    [id],
  );
  return Math.round(ms / 1000);
}

async function removeAll(stage, service, { id, headers }) {
  for (const { id: recording } of await stage.sql('SELECT id FROM recordings WHERE account_id = $1', [id])) {
    const answer = await fetch(`${service.url}/v1/recordings/${recording}`, { method: 'DELETE', headers });
    if (!answer.ok) throw new Error(`delete: ${answer.status} ${await answer.text()}`);
  }
}
