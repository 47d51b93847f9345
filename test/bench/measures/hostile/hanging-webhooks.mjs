import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { SHORT_RECORDING, upload, warmUp } from '../../lib/transcriptions.mjs';
import { atMost, published } from '../../lib/figures.mjs';
import { hang, receiveEvents, subscribe } from '../../lib/receivers.mjs';

const ACCOUNTS = 20;
const WEBHOOKS = 50;
/** Due when the workers start, for each webhook; one more follows at every interval. */
const BACKLOG = 10;
const EVENT_EVERY_MS = 20_000;
const UPLOAD_EVERY_MS = 2000;

/** 1,000 webhooks of 20 accounts that hang, on the same host as a healthy one of another account. */
export async function measureHangingWebhooks(stage, { hangingSeconds }) {
  const account = await stage.account();
  const [tarpit, receiver] = [await hang(), await receiveEvents()];
  const api = await stage.service('api');
  await createHanging(stage, api, account, tarpit.url);
  await subscribe(api, account, receiver.url);
  for (let i = 0; i < BACKLOG; i++) await insertEvents(stage, account.id);
  const worker = await stage.service('worker');
  await warmUp(stage, api, account);

  const before = worker.memory();
  const [waits, peaks] = [[], { memory: before, connections: 0 }];
  const endsAt = Date.now() + hangingSeconds * 1000;
  let nextEvents = 0;
  while (Date.now() < endsAt) {
    if (Date.now() > nextEvents) {
      await insertEvents(stage, account.id);
      nextEvents = Date.now() + EVENT_EVERY_MS;
    }
    const id = await upload(api, account, SHORT_RECORDING);
    while (!receiver.arrivals.has(id)) await sleep(5);
    const [{ at }] = await stage.sql('SELECT processed_at AS at FROM recordings WHERE id = $1', [id]);
    waits.push(receiver.arrivals.get(id) - at.getTime());
    peaks.memory = Math.max(peaks.memory, worker.memory());
    peaks.connections = Math.max(peaks.connections, tarpit.connections());
    await sleep(UPLOAD_EVERY_MS);
  }
  receiver.close();
  tarpit.close();
  const sorted = waits.toSorted((a, b) => a - b);
  const late = waits.filter((ms) => ms > 1000).length;
  const figures = `${waits.length} in ${hangingSeconds} s, median ${sorted[waits.length >> 1]} ms, ${late} late`;
  const grown = (peaks.memory - before) / 2 ** 20;
  return [
    atMost(
      1000,
      `first attempt beside ${ACCOUNTS * WEBHOOKS} webhooks that hang: longest (ms)`,
      sorted.at(-1),
      figures,
    ),
    published('growth of memory meanwhile (MB)', grown, `at most ${peaks.connections} connections to the host`),
  ];
}

async function createHanging(stage, api, account, url) {
  for (let i = 0; i < ACCOUNTS; i++) {
    const id = randomUUID();
    await stage.sql(
      `INSERT INTO accounts (id, name, email, status, plan, created_at, updated_at)
       VALUES ($1, 'Hanging', 'h@example.com', 'active', 'free', now(), now())`,
      [id],
    );
    for (let j = 0; j < WEBHOOKS; j++) await subscribe(api, account, `${url}${i}/${j}`);
    await stage.sql('UPDATE webhooks SET account_id = $1 WHERE account_id = $2', [id, account.id]);
  }
}

/** One event for each account that hangs. */
async function insertEvents(stage, healthyId) {
  await stage.sql(
    `WITH added AS (
       INSERT INTO events (id, account_id, sequence, kind, recording_id, run, body, created_at)
       SELECT gen_random_uuid(), a.id, extract(epoch FROM clock_timestamp()) * 1000000, 'recording.transcribed',
         gen_random_uuid(), 1, '{"recording":{"id":"none"}}', now()
       FROM accounts a WHERE a.id <> $1 RETURNING id, account_id)
     INSERT INTO deliveries (id, account_id, event_id, webhook_id, status, next_attempt_at, created_at, updated_at)
     SELECT gen_random_uuid(), w.account_id, e.id, w.id, 'pending', now(), now(), now()
     FROM added e JOIN webhooks w ON w.account_id = e.account_id`,
    [healthyId],
  );
}
