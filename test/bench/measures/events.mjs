import { once } from 'node:events';
import { get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { load } from '../lib/load.mjs';

const ACCOUNTS = 10;
const STREAMS = 1000;
const IDLE_SECONDS = 20;

/** What streams cost that nothing happens on, and how long an event takes to one of them. */
export async function measureEvents(stage) {
  const accounts = [];
  while (accounts.length < ACCOUNTS) accounts.push(await stage.account());
  const service = await stage.service('api', {
    EVENT_STREAMS_PER_ACCOUNT: `${STREAMS}`,
    MAX_CONNECTIONS_PER_ADDRESS: `${2 * STREAMS}`,
  });
  await load(`${service.url}/v1/events`, { headers: accounts[0].headers, seconds: 5, connections: 16 });
  await delay(2000);
  const before = service.memory();
  const without = await statementsPerSecond(stage);
  const streams = [];
  while (streams.length < STREAMS) {
    streams.push(...(await Promise.all(accounts.map(({ headers }) => openStream(service.url, headers)))));
  }
  // Postgres counts a statement some seconds later.
  await delay(5000);
  const statements = (await statementsPerSecond(stage)) - without;
  const bytes = service.memory() - before;
  const delays = await timesToReader(stage, accounts[0], streams[0]);
  for (const stream of streams) stream.destroy();
  return [
    {
      what: `growth of the API's memory by ${STREAMS} idle event streams (MB)`,
      value: bytes / 1e6,
      target: 40,
      atMost: true,
      figures: `${(bytes / STREAMS / 1000).toFixed(1)} kB each`,
    },
    {
      what: `statements a second for ${STREAMS} idle event streams`,
      value: statements,
      target: 5,
      atMost: true,
      figures: `${ACCOUNTS} accounts, without streams ${without.toFixed(1)}`,
    },
    {
      what: 'time from a commit to the reader of a stream, longest of 20 (s)',
      value: Math.max(...delays),
      target: 3,
      atMost: true,
      figures: `without a signal; ${STREAMS} streams open`,
    },
  ];
}

/** Each statement outside a transaction is one transaction. */
async function statementsPerSecond(stage) {
  const count = async () => {
    const sql = `SELECT xact_commit + xact_rollback AS count FROM pg_stat_database WHERE datname = current_database()`;
    const [row] = await stage.sql(sql);
    return Number(row.count);
  };
  const first = await count();
  await delay(IDLE_SECONDS * 1000);
  return ((await count()) - first - 1) / IDLE_SECONDS;
}

async function openStream(url, headers) {
  const request = get(`${url}/v1/events/stream?after=latest`, { headers, agent: false });
  const [response] = await once(request, 'response');
  if (response.statusCode !== 200) throw new Error(`a stream was answered with ${response.statusCode}`);
  response.on('error', () => undefined);
  response.resume();
  return response;
}

/** Committed by SQL, so that no signal tells of it: the slowest way. In seconds. */
async function timesToReader(stage, account, stream) {
  const times = [];
  for (let i = 0; i < 20; i++) {
    const arrived = new Promise((resolve) => {
      stream.on('data', function take(chunk) {
        if (!chunk.toString().includes('data:')) return;
        stream.off('data', take);
        resolve(performance.now());
      });
    });
    await stage.sql(
      `INSERT INTO events (id, account_id, kind, body, created_at)
       VALUES (gen_random_uuid(), $1, 'bench.idle', '{}', now())`,
      [account.id],
    );
    const committedAt = performance.now();
    times.push(((await arrived) - committedAt) / 1000);
    await delay(Math.random() * 500);
  }
  return times;
}
