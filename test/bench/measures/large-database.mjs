import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../../../scripts/lib/paths.mjs';
import { run, waitUntil } from '../../../scripts/lib/processes.mjs';
import { claimFairest } from '../../../dist/modules/recordings/leases/recording-claims.queries.js';
import { deleteOldEvents, FIRST_PLACE } from '../../../dist/modules/webhooks/events/webhook-events.service.js';
import { fillDatabase } from '../lib/large-database.mjs';
import { atMost, median } from '../lib/figures.mjs';

const CLAIMS = 200;
const ROUNDS = 20;
const LARGE_TABLES = ['recordings', 'transcriptions', 'events', 'deliveries', 'usage_counters'];
const ERASURE_MS = 600_000;

/**
 * Claims, the rounds of the reconciler and the commands of an operator on a database with a million recordings and
 * events, beside 10,000 accounts that wait.
 */
export async function measureLargeDatabase(stage, { recordings }) {
  const size = `${recordings / 1000}k recordings`;
  const client = await stage.account();
  const { large, other, waiting } = await fillDatabase(stage, recordings);
  const runner = { query: (sql, given) => stage.sql(sql, given), prepared: (sql, given) => stage.sql(sql, given) };
  const results = [];
  const add = (what, value, target) => results.push(atMost(target, `${what}, ${size}`, value));

  const claim = () =>
    claimFairest(runner, { leaseToken: randomUUID(), leaseSeconds: 60, held: [], exceptAccounts: [] });
  add(`claim beside ${waiting} accounts (ms)`, await medianOf(CLAIMS, claim), 5);
  let after = FIRST_PLACE;
  const retention = async () => {
    const { last } = await deleteOldEvents(runner, 30, after, 200);
    after = last ?? FIRST_PLACE;
  };
  add('look at 200 old events that wait for a delivery (ms)', await medianOf(ROUNDS, retention), 10);
  add(`rows read in sequence by ${ROUNDS} rounds of the reconciler (thousands)`, (await reconcile(stage)) / 1000, 1000);
  add('erase an end user of a hundredth of them (s)', await erase(stage, client, large), ERASURE_MS / 1000);

  const timed = async (...args) => {
    const started = performance.now();
    const { code, output } = await run(process.execPath, ['dist/commands/cli.js', ...args, '--json'], {
      cwd: ROOT,
      env: stage.env,
    });
    if (code !== 0) throw new Error(`${args[0]} failed:\n${output}`);
    return (performance.now() - started) / 1000;
  };
  add(
    'retranscribe --all (s)',
    await timed('retranscribe', '--all', '--model-not', 'new', '--since', '2020-01-01', '--detach'),
    60,
  );
  add('retranscribe --status (s)', await timed('retranscribe', '--status'), 5);
  add('retranscribe --all --cancel (s)', await timed('retranscribe', '--all', '--cancel'), 15);
  add('counters:rebuild (s)', await timed('counters:rebuild', '--account', large), 60);
  const purge = ['account:purge', '--yes', '--without-audio', '--account'];
  add('account:purge of a twentieth of them, and half of the events (s)', await timed(...purge, other), 600);
  return results;
}

async function medianOf(count, work) {
  const times = [];
  for (let i = 0; i < count; i++) {
    const started = performance.now();
    await work();
    times.push(performance.now() - started);
  }
  return median(times);
}

/** The first rounds of a process that only sends webhooks and reconciles. */
async function reconcile(stage) {
  const before = await readInSequence(stage);
  const service = await stage.service('deliverer', { RECONCILE_SECONDS: '1' });
  await sleep(ROUNDS * 1000);
  await service.stop();
  return (await readInSequence(stage)) - before;
}

async function readInSequence(stage) {
  // A session writes its statistics after ten seconds without a statement at the latest.
  await sleep(11_000);
  const [row] = await stage.sql(
    'SELECT sum(seq_tup_read)::float8 AS rows FROM pg_stat_user_tables WHERE relname = ANY ($1)',
    [LARGE_TABLES],
  );
  return row.rows;
}

/** Seconds until nothing of the user is left, with the reconciler, which continues what a request does not finish. */
async function erase(stage, { headers, id }, accountId) {
  const service = await stage.service('api,deliverer', { RECONCILE_SECONDS: '1' });
  // The key of one account is made that of the other.
  await stage.sql('UPDATE api_keys SET account_id = $2 WHERE account_id = $1', [id, accountId]);
  const started = performance.now();
  const { status } = await fetch(`${service.url}/v1/users/ada`, { method: 'DELETE', headers });
  if (status >= 300) throw new Error(`the erasure was answered ${status}`);
  const isDone = async () => (await stage.sql('SELECT FROM user_erasures LIMIT 1')).length === 0;
  if (!(await waitUntil(isDone, ERASURE_MS, 500))) throw new Error('the erasure has not ended');
  const seconds = (performance.now() - started) / 1000;
  await service.stop();
  return seconds;
}
