// Rolls from the last release to this one and back, process by process behind HAProxy, while requests come in:
//   npm run roll-test -- [--recordings N]
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { ROOT } from '../../scripts/lib/paths.mjs';
import { waitUntil } from '../../scripts/lib/processes.mjs';
import { step } from '../../scripts/lib/steps.mjs';
import { FrontProxy } from './front-proxy.mjs';
import { Load } from './load.mjs';
import { fill } from './rows.mjs';
import { prepareOldRelease, runAndUndo, runNode, STOP_MS } from './setup.mjs';

/** In which an API process of this release serves after the signal: more than 1 s and three checks of HAProxy. */
const DELAY_SECONDS = 5;
/** In which a process ends in order after that, or fails (docs/reliability.md). */
const GRACE_MS = 10_000;
/** Between two processes, so that each release serves for a while beside the other. */
const BETWEEN_MS = 3000;
/** Longer than a lease, should a worker have been lost. */
const SETTLE_MS = 300_000;
/** A text takes seconds of both cores. */
const UPLOAD_EVERY_MS = 2500;
/** Less than three checks of HAProxy. */
const UNNOTICED_MS = 1000;
const APIS = ['api1', 'api2'];
const WORKERS = ['worker1', 'worker2'];

const { values } = parseArgs({
  options: {
    recordings: { type: 'string', default: '20000' },
  },
});
/** What is undone at the end, the last first. */
const undo = [];

async function main(recordings) {
  const { folder, old, env, database, credentials, start } = await prepareOldRelease(undo, {
    SHUTDOWN_DELAY_SECONDS: `${DELAY_SECONDS}`,
  });
  await step('Rows', () => fill(database, recordings));
  const front = await FrontProxy.start({ folder, slots: APIS }, undo);
  const fleet = new Fleet(start, front);
  for (const name of WORKERS) await fleet.start(name, 'worker', old);
  for (const name of APIS) await fleet.start(name, 'api', old);
  const load = await Load.start([{ name: 'front', url: front.url }], credentials, undo, {
    uploadEveryMs: UPLOAD_EVERY_MS,
  });
  await sleep(BETWEEN_MS);

  const phases = [];
  const phase = async (name, work) => {
    const [requests, failures, uploads] = [load.requests, load.failures.length, load.uploads.length];
    await step(name, work);
    phases.push([name, load.requests - requests, load.failures.length - failures, load.uploads.length - uploads]);
  };
  await phase('Migrations', async () => void (await runNode(ROOT, ['dist/commands/migrate.js'], env)));
  await phase('To this release', () => fleet.roll(ROOT));
  await phase('Migrations of the last', async () => void (await runNode(old, ['dist/commands/migrate.js'], env)));
  await phase('Back to the last', () => fleet.roll(old));
  const failures = [...load.failures];
  const { requests } = load;
  await phase('Control: not drained', () => fleet.restartAtOnce(APIS[0], old));
  await load.stop();
  const missed = load.failures.length - failures.length;
  // Their uploads may be there all the same.
  const unanswered = load.failures.slice(failures.length).filter((failure) => failure.includes('POST')).length;
  await waitUntil(() => load.undelivered() === 0, SETTLE_MS, 100);
  await sleep(BETWEEN_MS);

  const [found] = (
    await database.query(
      `SELECT (SELECT count(*)::int FROM recordings WHERE id = ANY($1)) AS kept,
         (SELECT count(*)::int FROM recordings WHERE id = ANY($1) AND status = 'transcribed') AS transcribed,
         (SELECT count(*)::int FROM recordings WHERE original_filename = 'note.wav') AS made,
         (SELECT count(*)::int FROM (SELECT FROM events WHERE recording_id = ANY($1) AND kind = 'recording.transcribed'
           GROUP BY recording_id HAVING count(*) > 1) twice) AS twice`,
      [load.uploads],
    )
  ).rows;
  const { length: uploads } = load.uploads;
  const doubled = [...load.receiver.counts.values()].filter((count) => count > 1).length;
  const slowest = Math.max(...fleet.stops.map(({ ms }) => ms));
  const killed = fleet.stops.filter(({ code }) => code !== 0);
  const crashed = fleet.members().flatMap(({ crashes }) => crashes);
  for (const [name, sent, failed, uploaded] of phases)
    console.log(`    ${name.padEnd(26)}${sent} requests, ${failed} failed, ${uploaded} uploads`);
  const results = [
    ['failed requests', `${failures.length} of ${requests}`, failures.length === 0],
    ['  of a process not drained', `${missed}`, missed > 0],
    ['uploads lost', `${uploads - found.kept} of ${uploads}`, uploads > 0 && found.kept === uploads],
    ['uploads without a text', `${uploads - found.transcribed}`, found.transcribed === uploads],
    [
      'uploads made twice',
      `${Math.max(0, found.made - found.kept - unanswered)}`,
      found.made - found.kept <= unanswered,
    ],
    ['events without a delivery', `${load.undelivered()}`, load.undelivered() === 0],
    ['recordings with two ends', `${found.twice}`, found.twice === 0],
    ['events delivered twice', `${doubled}`, doubled === 0],
    ['processes ended in order', `${fleet.stops.length - killed.length} of ${fleet.stops.length}`, killed.length === 0],
    ['longest end of a process', `${slowest} ms`, slowest <= DELAY_SECONDS * 1000 + GRACE_MS],
    ['processes that crashed', `${crashed.length}`, crashed.length === 0],
  ];
  for (const [what, value, isGood] of results) console.log(`  ${isGood ? ' ' : '!'} ${what.padEnd(28)}${value}`);
  for (const failure of failures.slice(0, 5)) console.log(failure);
  return results.every(([, , isGood]) => isGood);
}

/** The processes of an installation, of which each has its name whichever release it runs. */
class Fleet {
  stops = [];
  #running = new Map();
  #past = [];

  constructor(start, front) {
    Object.assign(this, { launch: start, front });
  }

  members() {
    return [...this.#past, ...this.#running.values()];
  }

  async start(name, roles, root) {
    const member = await this.launch(name, roles, root);
    this.#running.set(name, member);
    if (roles === 'api') await this.front.add(name, member);
  }

  /**
   * Replaces each process by one of another release, workers first, as docs/operations.md says. The last release does not
   * know the delay, and is taken from the proxy.
   */
  async roll(root) {
    for (const name of WORKERS) {
      await this.#stop(name);
      await this.start(name, 'worker', root);
      await sleep(BETWEEN_MS);
    }
    for (const name of APIS) {
      if (root === ROOT) await this.front.drain(name);
      await this.#stop(name);
      await this.#startApi(name, root);
      await sleep(BETWEEN_MS);
    }
  }

  /** Without taking it from the proxy first, and with a moment in which requests still go there. */
  async restartAtOnce(name, root) {
    await this.#stop(name);
    await sleep(UNNOTICED_MS);
    await this.#startApi(name, root);
  }

  async #startApi(name, root) {
    await this.front.remove(name);
    await this.start(name, 'api', root);
  }

  async #stop(name) {
    const member = this.#running.get(name);
    const startedAt = performance.now();
    const code = await member.stop(STOP_MS);
    this.stops.push({ name, code, ms: Math.round(performance.now() - startedAt) });
    this.#past.push(member);
  }
}

await runAndUndo(() => main(Number(values.recordings)), undo);
