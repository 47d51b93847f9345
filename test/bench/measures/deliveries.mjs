import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ROOT } from '../../../scripts/lib/paths.mjs';
import { atLeast, published } from '../lib/figures.mjs';
import { subscribe } from '../lib/receivers.mjs';

const WEBHOOKS = 8;
/** Deliveries under way to one webhook at a time. */
const SEND_CONCURRENCY = 4;
const WATCH_MS = 100;

/** 10,000 due deliveries: how fast they are drained beside a bare loop, and in how much memory. */
export async function measureDeliveries(stage, { deliveries }) {
  const account = await stage.account();
  const api = await stage.service('api');
  const sink = await stage.baseline('sink.mjs');
  for (let i = 0; i < WEBHOOKS; i++) await subscribe(api, account, `${sink.url}/${i}`);
  await api.stop();

  await insertDue(stage, account.id, deliveries / WEBHOOKS);
  const env = { ...stage.env, URL: `${sink.url}/bare`, WIDTH: `${WEBHOOKS * SEND_CONCURRENCY}` };
  const script = 'test/bench/baselines/bare-sender.mjs';
  const { stdout } = await promisify(execFile)(process.execPath, [script], { cwd: ROOT, env });
  const bare = deliveries / JSON.parse(stdout).seconds;

  await stage.sql('DELETE FROM events');
  await insertDue(stage, account.id, deliveries / WEBHOOKS);
  await sink.stop();
  const fresh = await stage.baseline('sink.mjs', { PORT: new URL(sink.url).port });
  const worker = await stage.service('worker');
  const before = worker.memory();
  let peak = before;
  let seen;
  do {
    await sleep(WATCH_MS);
    peak = Math.max(peak, worker.memory());
    seen = await (await fetch(`${fresh.url}/count`)).json();
  } while (seen.count < deliveries);
  const ours = deliveries / seen.seconds;
  const figures = `${Math.round(ours)} against ${Math.round(bare)} a second`;
  return [
    atLeast(0.5, `${deliveries / 1000}k deliveries / bare loop`, ours / bare, figures),
    published('growth of memory meanwhile (MB)', (peak - before) / 2 ** 20),
  ];
}

async function insertDue(stage, accountId, events) {
  await stage.sql(
    `INSERT INTO events (id, account_id, sequence, kind, recording_id, run, body, created_at)
     SELECT gen_random_uuid(), $1, i, 'recording.transcribed', gen_random_uuid(), 1,
       '{"event":"recording.transcribed","recording":{"id":"019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60","status":"transcribed"}}', now()
     FROM generate_series(1, $2::int) i`,
    [accountId, events],
  );
  await stage.sql(
    `INSERT INTO deliveries (id, account_id, event_id, webhook_id, status, next_attempt_at, created_at, updated_at)
     SELECT gen_random_uuid(), w.account_id, e.id, w.id, 'pending', now(), now(), now()
     FROM events e CROSS JOIN webhooks w`,
  );
  await stage.sql('VACUUM ANALYZE deliveries');
}
