// Upgrades a large database of the last release while it serves, as docs/operations.md says, and counts who waited:
//   npm run upgrade-test -- [--recordings N]
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';

import { cleanEnvironment } from '../../scripts/lib/environment.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { run, waitUntil } from '../../scripts/lib/processes.mjs';
import { prepareProject } from '../../scripts/lib/setup.mjs';
import { printError, seconds, step, UserError } from '../../scripts/lib/steps.mjs';
import { ensureSystemPackages } from '../../scripts/lib/system-packages.mjs';
import { startTemporaryServices } from '../../scripts/lib/temporary-services.mjs';
import { receiveEvents } from '../bench/lib/receivers.mjs';
import { SHORT_RECORDING } from '../bench/lib/transcriptions.mjs';
import { formOf, post } from '../bench/lib/uploads.mjs';
import { Member } from '../chaos/fleet.mjs';
import { buildRelease, lastRelease } from './old-release.mjs';
import { fill } from './rows.mjs';

/** The longest that a request may wait for a lock. */
const LONGEST_WAIT_MS = 200;
const SAMPLE_MS = 10;
const READERS = 4;
const UPLOAD_EVERY_MS = 1000;
const STOP_MS = 30_000;
/** Longer than a lease, should a worker have been lost. */
const SETTLE_MS = 120_000;

const { values } = parseArgs({ options: { recordings: { type: 'string', default: '1000000' } } });
/** What is undone at the end, the last first. */
const undo = [];

async function main(recordings) {
  await ensureSystemPackages(cleanEnvironment());
  await prepareProject();
  const folder = mkdtempSync(join(tmpdir(), 'voice-notes-upgrade-'));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  const { name, commit } = lastRelease();
  const old = join(folder, 'release');
  await step(`Build ${name}`, () => buildRelease(commit, old));
  const services = await startTemporaryServices({ durable: true });
  undo.push(() => services.stop());
  const env = environmentOf(services, folder);
  const database = await connect(env);
  await runNode(old, ['dist/commands/migrate.js'], env);
  const credentials = await createAccount(old, env);
  await step('Rows', () => fill(database, recordings));

  const start = async (member, roles, root) => {
    const started = await Member.create(member, roles, { env, folder, root });
    undo.push(() => started.stop(STOP_MS));
    if (!(await waitUntil(() => started.isReady(), 60_000))) throw new UserError(`${member} did not become ready`);
    return started;
  };
  const oldApis = [await start('old-api-1', 'api', old), await start('old-api-2', 'api', old)];
  const oldWorker = await start('old-worker', 'worker', old);
  const load = await Load.start(oldApis, credentials);
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

function environmentOf(services, folder) {
  return {
    ...cleanEnvironment(),
    ...services.env,
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    SECRET_KEY: randomBytes(32).toString('hex'),
    STORAGE_DIR: join(folder, 'storage'),
    CONSOLE: 'off',
    ADDRESS_RATE_LIMIT: '1000000/1000000',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    TRANSCRIPTION_ENGINE: 'pocketsphinx',
    LOG_LEVEL: 'warn',
  };
}

async function connect(env) {
  const client = new pg.Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  undo.push(() => client.end());
  return client;
}

async function runNode(cwd, args, env) {
  const { code, stdout, output } = await run(process.execPath, args, { cwd, env });
  if (code !== 0) throw new UserError(`${args.join(' ')} failed:\n${output}`);
  return stdout;
}

async function createAccount(root, env) {
  const limits = ['--plan', 'enterprise', '--rate-limit', '1000000', '--burst-limit', '1000000'];
  const args = ['account:create', '--name', 'Upgrade', '--email', 'u@example.com', ...limits, '--json'];
  const made = JSON.parse(await runNode(root, ['dist/commands/cli.js', ...args], env));
  return { 'X-Service-API-Key': made.api_key, 'X-Service-API-Secret': made.api_secret };
}

/** Ends a process as an operator does, takes it from the load balancer first, and starts it again. */
async function restart(member, load, start, root) {
  await load.without(member);
  const started = await start(member.name, 'api', root);
  load.members.push(started);
  return started;
}

/** Reads and uploads at a constant rate, each request to the next process. Nothing is repeated. */
class Load {
  requests = 0;
  failures = [];
  uploads = [];
  #stopped = false;
  #loops = [];

  static async start(members, headers) {
    const load = new Load();
    Object.assign(load, { members: [...members], headers, receiver: await receiveEvents() });
    undo.push(() => load.receiver.close());
    const body = JSON.stringify({ url: load.receiver.url, events: ['recording.transcribed', 'recording.failed'] });
    await load.#request('/v1/webhooks', { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
    load.#loops = [...Array.from({ length: READERS }, (_, i) => load.#read(i)), load.#upload()];
    return load;
  }

  undelivered() {
    return this.uploads.filter((id) => !this.receiver.arrivals.has(id)).length;
  }

  /** Sends it no more requests, and stops it when it has answered those that it has. */
  async without(member) {
    this.members = this.members.filter((other) => other !== member);
    await sleep(1000);
    await member.stop(STOP_MS);
  }

  async stop() {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  async #read(first) {
    const paths = [
      '/v1/recordings',
      '/v1/recordings?status=transcribed',
      '/v1/account/usage',
      '/v1/events',
      '/v1/account',
    ];
    for (let i = first; !this.#stopped; i++) {
      await this.#request(paths[i % paths.length]);
      await sleep(20);
    }
  }

  async #upload() {
    const body = formOf(readFileSync(SHORT_RECORDING));
    while (!this.#stopped) {
      const answer = await this.#counted('POST /v1/recordings', (url) =>
        post(`${url}/v1/recordings`, { headers: this.headers, body }),
      );
      if (answer?.status === 201) this.uploads.push(JSON.parse(answer.body).id);
      await sleep(UPLOAD_EVERY_MS);
    }
  }

  #request(path, { headers, ...options } = {}) {
    return this.#counted(path, async (url) => {
      const response = await fetch(url + path, { ...options, headers: { ...this.headers, ...headers } });
      return { status: response.status, body: await response.text() };
    });
  }

  async #counted(what, send) {
    const member = this.members[this.requests++ % this.members.length];
    const answer = await send(member.url).catch((error) => ({ status: 0, body: `${error.cause ?? error}` }));
    if (answer.status < 200 || answer.status > 299)
      this.failures.push(`${member.name} ${what}: ${answer.status} ${answer.body}`);
    return answer;
  }
}

/** Looks all the time which statement waits for a lock and since when, other than those of the migrations. */
async function watchWaits(env) {
  const client = await connect(env);
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
  const [upgraded, made] = [await schemaOf(database), await schemaOf(await connect(other))];
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

try {
  process.exitCode = (await main(Number(values.recordings))) ? 0 : 1;
} catch (error) {
  printError(error);
  process.exitCode = 2;
} finally {
  for (const end of undo.toReversed()) await end();
}
