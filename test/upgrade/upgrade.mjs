// Upgrades a large database of the last release while it serves, as docs/operations.md says, and counts who waited:
//   npm run upgrade-test -- [--recordings N]
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { ROOT } from '../../scripts/lib/paths.mjs';
import { waitUntil } from '../../scripts/lib/processes.mjs';
import { seconds, step } from '../../scripts/lib/steps.mjs';
import { Load } from './load.mjs';
import { fill } from './rows.mjs';
import { connect, environmentOf, prepareOldRelease, runAndUndo, runNode, STOP_MS } from './setup.mjs';

/** The longest that a request may wait for a lock. */
const LONGEST_WAIT_MS = 200;
const SAMPLE_MS = 10;
/** Longer than a lease, should a worker have been lost. */
const SETTLE_MS = 120_000;

const { values } = parseArgs({ options: { recordings: { type: 'string', default: '1000000' } } });
/** What is undone at the end, the last first. */
const undo = [];

async function main(recordings) {
  const { old, services, env, database, credentials, start } = await prepareOldRelease(undo);
  await step('Rows', () => fill(database, recordings));

  const oldApis = [await start('old-api-1', 'api', old), await start('old-api-2', 'api', old)];
  const oldWorker = await start('old-worker', 'worker', old);
  const load = await Load.start(oldApis, credentials, undo);
  const waits = await watchWaits(env);
  await sleep(5000);
  const before = waits.longest();

  let restarted;
  const duration = await step('Migrations', async () => {
    const startedAt = performance.now();
    const migrated = runNode(ROOT, ['dist/commands/migrate.js'], env);
    restarted = restart(oldApis[1], load, start, old);
    await Promise.all([migrated, restarted]);
    return seconds(performance.now() - startedAt);
  });
  const again = await restarted;
  // Once more when all migrations are there.
  await step('Restart', async () => void (await restart(again, load, start, old)));
  await step('New release', async () => {
    load.members.push(await start('new-api', 'api', ROOT));
    await start('new-worker', 'worker', ROOT);
    await sleep(3000);
    for (const member of load.members.filter(({ root }) => root === old)) await load.without(member);
    await oldWorker.stop(STOP_MS);
    await sleep(5000);
  });
  await load.stop();
  const delivered = await waitUntil(() => load.undelivered() === 0, SETTLE_MS, 100);
  const longest = waits.longest();
  const differs = await schemaDiffers(database, services);
  const results = [
    ['longest wait of a request for a lock', `${Math.round(longest.ms)} ms`, longest.ms <= LONGEST_WAIT_MS],
    ['  before the migrations', `${Math.round(before.ms)} ms`, true],
    ['failed requests', `${load.failures.length} of ${load.requests}`, load.failures.length === 0],
    ['uploads without a delivery', `${load.undelivered()} of ${load.uploads.length}`, delivered],
    ['migrations took', duration, true],
    ['differs from a new database', differs ?? 'no', differs === null],
  ];
  for (const [what, found, isGood] of results) console.log(`  ${isGood ? ' ' : '!'} ${what.padEnd(40)}${found}`);
  if (longest.ms > LONGEST_WAIT_MS) console.log(`\nThat waited: ${longest.query}`);
  for (const failure of load.failures.slice(0, 5)) console.log(failure);
  return results.every(([, , isGood]) => isGood);
}

/** Ends a process as an operator does, takes it from the load balancer first, and starts it again. */
async function restart(member, load, start, root) {
  await load.without(member);
  const started = await start(member.name, 'api', root);
  load.members.push(started);
  return started;
}

/** Looks all the time which statement waits for a lock and since when, other than those of the migrations. */
async function watchWaits(env) {
  const client = await connect(env, undo);
  let longest = { ms: 0, query: '' };
  let stopped = false;
  const loop = (async () => {
    while (!stopped) {
      const { rows } = await client.query(
        `SELECT extract(epoch FROM clock_timestamp() - waitstart) * 1000 AS ms, query
         FROM pg_locks JOIN pg_stat_activity USING (pid)
         WHERE NOT granted AND waitstart IS NOT NULL AND application_name <> 'voice-notes-migrate'`,
      );
      for (const row of rows) if (Number(row.ms) > longest.ms) longest = { ms: Number(row.ms), query: row.query };
      await sleep(SAMPLE_MS);
    }
  })();
  undo.push(async () => {
    stopped = true;
    await loop;
  });
  return { longest: () => longest };
}

/** @returns {Promise<string | null>} what the upgraded schema has, or lacks, beside that of a new database */
async function schemaDiffers(database, { env }) {
  await database.query('CREATE DATABASE upgrade_new');
  const url = new URL(env.DATABASE_URL);
  url.pathname = '/upgrade_new';
  const other = { ...env, DATABASE_URL: url.href };
  await runNode(ROOT, ['dist/commands/migrate.js'], environmentOf({ env: other }, ROOT));
  const [upgraded, made] = [await schemaOf(database), await schemaOf(await connect(other, undo))];
  const different = [
    ...upgraded.filter((line) => !made.includes(line)),
    ...made.filter((line) => !upgraded.includes(line)),
  ];
  return different.length > 0 ? different.join('; ') : null;
}

/** A line for each column, constraint, index, trigger and function. */
async function schemaOf(database) {
  const { rows } = await database.query(`
    SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) AS line
      FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
      WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
    UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT relname || ' ' || reloptions::text FROM pg_class WHERE relnamespace = 'public'::regnamespace
      AND reloptions IS NOT NULL
    UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT proname || regexp_replace(prosrc, '\\s+', ' ', 'g') FROM pg_proc
      WHERE pronamespace = 'public'::regnamespace`);
  return rows.map(({ line }) => line);
}

await runAndUndo(() => main(Number(values.recordings)), undo);
