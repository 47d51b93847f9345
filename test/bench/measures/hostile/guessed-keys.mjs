import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../../../../scripts/lib/processes.mjs';
import { ROOT } from '../../../../scripts/lib/paths.mjs';
import { alternate, atMost, load, median, ratio } from '../../lib/figures.mjs';
import { insertRecordings } from '../../lib/recordings.mjs';

/** Well-formed key pairs that do not exist, a second. */
const GUESSES = 2000;
/** What a tenant sends meanwhile, a second. */
const RATE = 200;

/** A tenant's requests while a stranger guesses key pairs as fast as a small machine can. */
export async function measureGuessedKeys(stage, { pairs, seconds }) {
  const account = await stage.account();
  await insertRecordings(stage, account.id, 1000, 30);
  const [{ id }] = await stage.sql('SELECT id FROM recordings WHERE account_id = $1 LIMIT 1', [account.id]);
  const service = await stage.service('api', { ADDRESS_RATE_LIMIT: '60/120' });
  const tenant = () =>
    load(`${service.url}/v1/recordings/${id}`, { headers: account.headers, seconds, connections: 8, rate: RATE });
  const guesses = [];
  const besideGuesses = async () => {
    const [guessed, measured] = await Promise.all([guess(service.url, seconds), tenant()]);
    guesses.push(guessed);
    return measured;
  };
  const counted = async (work, counts) => {
    const before = await countTransactions(stage);
    const result = await work();
    // Postgres counts what a session did up to a second later.
    await sleep(1200);
    counts.push((await countTransactions(stage)) - before);
    return result;
  };
  for (const warmUp of [tenant, besideGuesses]) await warmUp();
  guesses.length = 0;
  const [ownTransactions, allTransactions] = [[], []];
  const [alone, beside] = await alternate(
    pairs,
    () => counted(tenant, ownTransactions),
    () => counted(besideGuesses, allTransactions),
  );
  const p99 = (results) => results.map((result) => result.p99);
  const sent = sum(guesses.map(({ perSecond }) => perSecond)) * seconds;
  const rate = figure(guesses.map(({ perSecond }) => perSecond));
  const figures = `${figure(p99(alone))} ms alone, ${figure(p99(beside))} ms beside ${rate} guesses/s`;
  return [
    atMost(2, 'guessed key pairs: p99 of a tenant / alone', ratio(p99(beside), p99(alone)), figures),
    atMost(0.2, 'statements for each guess', (sum(allTransactions) - sum(ownTransactions)) / sent),
  ];
}

/** From another process, so that the load on the tenant's client is none. */
async function guess(url, seconds) {
  const args = ['test/bench/measures/hostile/guesses.mjs', `${url}/v1/account`, `${GUESSES}`, `${seconds}`];
  const { code, stdout, output } = await run(process.execPath, args, { cwd: ROOT });
  if (code !== 0) throw new Error(output);
  return JSON.parse(stdout);
}

/** Every transaction of the database counts, those of the tenant too. */
async function countTransactions(stage) {
  const [row] = await stage.sql(
    'SELECT xact_commit::float AS count FROM pg_stat_database WHERE datname = current_database()',
  );
  return row.count;
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const figure = (values) => Math.round(median(values) * 10) / 10;
