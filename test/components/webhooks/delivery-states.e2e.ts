import { DeliveriesService } from '../../../src/modules/webhooks/deliveries/deliveries.service.js';
import { RemovedWebhooksService } from '../../../src/modules/webhooks/deliveries/removed-webhooks.service.js';
import type { ClaimedDelivery } from '../../../src/modules/webhooks/deliveries/deliveries.queries.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { reportMeasurement } from '../../support/service/measurements.js';
import { failRecordings } from '../../support/state/recording-events.js';

const URL = 'http://127.0.0.1:9/';
const EVENTS = ['recording.failed'];
const OTHER = '00000000-0000-4000-8000-000000000000';
const OUTCOME = { errorKind: null, error: null, response: '', retryAfter: null, durationMs: 1 };

/** Sends nothing: only the test claims. */
const api = useService({ ROLES: 'api' });
let deliveries: DeliveriesService;
let client: ApiClient;
let webhookId: string;

beforeAll(() => {
  deliveries = api.app.get(DeliveriesService);
});

beforeEach(async () => {
  client = await api.account();
  webhookId = (await client.post('/v1/webhooks', { url: URL, events: EVENTS }).expect(201)).body.id;
});

async function claimed(): Promise<ClaimedDelivery> {
  await failRecordings(api, client.accountId, 1);
  const [delivery] = await deliveries.claim(webhookId, 1);
  if (!delivery) throw new Error('nothing was due');
  return delivery;
}

async function count(condition = 'true'): Promise<number> {
  const [row] = await api.database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM deliveries WHERE webhook_id = $1 AND ${condition}`,
    [webhookId],
  );
  return row?.count ?? -1;
}

/** More than one statement changes. */
async function many(number: number): Promise<void> {
  await api.database.query(
    `WITH added AS (
       INSERT INTO events (id, account_id, sequence, kind, recording_id, run, body, created_at)
       SELECT gen_random_uuid(), $1, i, 'recording.failed', gen_random_uuid(), 1, '{}', now()
       FROM generate_series(1000, 999 + $3::int) i RETURNING id)
     INSERT INTO deliveries (id, account_id, event_id, webhook_id, status, next_attempt_at, created_at, updated_at)
     SELECT gen_random_uuid(), $1, id, $2, 'pending', now(), now(), now() FROM added`,
    [client.accountId, webhookId, number],
  );
}

describe('the outcome of an attempt', () => {
  it.each([200, 500])('%i is not recorded without the lease: the row belongs to the new holder', async (status) => {
    const delivery = await claimed();
    await api.database.query('UPDATE deliveries SET lease_token = $2, attempts = 2 WHERE id = $1', [
      delivery.id,
      OTHER,
    ]);
    await deliveries.record(delivery, { ...OUTCOME, status });
    expect(await count(`status = 'pending' AND lease_token = '${OTHER}' AND last_status IS NULL`)).toBe(1);
    const [webhook] = await api.database.query('SELECT consecutive_failures FROM webhooks WHERE id = $1', [webhookId]);
    expect(webhook).toEqual({ consecutive_failures: 0 });
  });

  it.each([200, 500])('%i is recorded with the lease', async (status) => {
    await deliveries.record(await claimed(), { ...OUTCOME, status });
    expect(await count(`lease_token IS NULL AND last_status = ${status}`)).toBe(1);
  });

  it('replaces the error of the attempt before', async () => {
    const failure = { ...OUTCOME, status: null, errorKind: 'timeout', error: 'no answer' } as const;
    await deliveries.record(await claimed(), failure);
    expect(await count(`last_error_kind = 'timeout' AND last_error = 'no answer'`)).toBe(1);
    await api.database.query('UPDATE deliveries SET next_attempt_at = now() WHERE webhook_id = $1', [webhookId]);
    const [again] = await deliveries.claim(webhookId, 1);
    await deliveries.record(again as ClaimedDelivery, { ...OUTCOME, status: 200 });
    expect(await count(`status = 'delivered' AND last_error_kind IS NULL AND last_error IS NULL`)).toBe(1);
  });
});

describe('a delivery that is released', () => {
  it('is due again and has used up no attempt', async () => {
    await deliveries.release(await claimed());
    expect(await count(`status = 'pending' AND attempts = 0 AND lease_token IS NULL AND lease_until IS NULL`)).toBe(1);
    expect(await deliveries.claim(webhookId, 4)).toMatchObject([{ attempt: 1 }]);
  });

  it('is not released by a process that has lost the lease', async () => {
    const delivery = await claimed();
    await api.database.query('UPDATE deliveries SET lease_token = $2, attempts = 2 WHERE id = $1', [
      delivery.id,
      OTHER,
    ]);
    await deliveries.release(delivery);
    expect(await count(`lease_token = '${OTHER}' AND attempts = 2`)).toBe(1);
  });

  it('is claimed before those that are due for a shorter time', async () => {
    await many(5);
    const due = await api.database.query<{ id: string }>(
      `WITH placed AS (SELECT id, row_number() OVER (ORDER BY id) AS place FROM deliveries WHERE webhook_id = $1),
       moved AS (
         UPDATE deliveries d SET next_attempt_at = now() - make_interval(secs => p.place * 60) FROM placed p
         WHERE d.id = p.id RETURNING d.id)
       SELECT p.id FROM placed p JOIN moved USING (id) ORDER BY p.place DESC`,
      [webhookId],
    );
    const order: string[] = [];
    for (let i = 0; i < 5; i++) order.push(...(await deliveries.claim(webhookId, 1)).map(({ id }) => id));
    expect(order).toEqual(due.map(({ id }) => id));
  });

  it('is not claimed while another holds it, nor before it is due', async () => {
    const { id } = await claimed();
    expect(await deliveries.claim(webhookId, 4)).toEqual([]);
    await api.database.query(`UPDATE deliveries SET lease_until = now() - interval '1 second' WHERE id = $1`, [id]);
    expect(await deliveries.claim(webhookId, 4)).toMatchObject([{ id, attempt: 2 }]);
    await api.database.query(
      `UPDATE deliveries SET lease_until = NULL, lease_token = NULL, next_attempt_at = now() + interval '1 minute'
       WHERE id = $1`,
      [id],
    );
    expect(await deliveries.claim(webhookId, 4)).toEqual([]);
  });
});

describe('a webhook that is disabled', () => {
  it('has no delivery claimed', async () => {
    await failRecordings(api, client.accountId, 1);
    await api.database.query(`UPDATE webhooks SET status = 'disabled' WHERE id = $1`, [webhookId]);
    expect(await deliveries.claim(webhookId, 4)).toEqual([]);
    expect(await deliveries.webhooksWithDue()).not.toContain(webhookId);
    await api.database.query(`UPDATE webhooks SET status = 'active' WHERE id = $1`, [webhookId]);
    expect(await deliveries.claim(webhookId, 4)).toHaveLength(1);
  });

  it('is disabled at once however many deliveries it has; they fail in batches', async () => {
    await many(2500);
    await client.put(`/v1/webhooks/${webhookId}`, { url: URL, events: EVENTS, status: 'disabled' }).expect(200);
    expect(await deliveries.claim(webhookId, 4)).toEqual([]);
    expect(await count(`status = 'pending'`)).toBe(1500);
    await deliveries.failRemaining();
    expect(await count(`status = 'failed' AND last_error = 'webhook disabled'`)).toBe(2500);
  });
});

describe('a webhook that is deleted', () => {
  it('is gone at once however many deliveries it has; they are deleted in batches', async () => {
    await many(20_500);
    const started = performance.now();
    await client.delete(`/v1/webhooks/${webhookId}`).expect(204);
    reportMeasurement(`DELETE of a webhook with 20,500 deliveries: ${Math.round(performance.now() - started)} ms`);
    await client.get(`/v1/webhooks/${webhookId}`).expect(404);
    expect(await deliveries.claim(webhookId, 4)).toEqual([]);
    expect(await count()).toBe(19_500);
    await api.app.get(RemovedWebhooksService).deleteRemaining();
    expect(await count()).toBe(0);
    expect(await api.database.query('SELECT * FROM removed_webhooks')).toEqual([]);
  });
});

describe('the reconciler', () => {
  it('deletes events and idempotency keys past their retention, and nothing else', async () => {
    await many(4);
    const ids = await api.database.query<{ id: string }>(
      'SELECT id FROM events WHERE account_id = $1 ORDER BY sequence',
      [client.accountId],
    );
    const [old, pending, recent, ,] = ids.map(({ id }) => id) as [string, string, string, string];
    const age = (id: string, days: number) =>
      api.database.query('UPDATE events SET created_at = now() - make_interval(days => $2) WHERE id = $1', [id, days]);
    await Promise.all([age(old, 31), age(pending, 31), age(recent, 29)]);
    await api.database.query(
      `UPDATE deliveries SET status = 'failed', next_attempt_at = NULL WHERE event_id = ANY ($1)`,
      [[old, recent]],
    );
    await api.database.query(`UPDATE deliveries SET next_attempt_at = now() + interval '1 hour' WHERE event_id = $1`, [
      pending,
    ]);
    for (const [key, hours] of [
      ['old', 25],
      ['recent', 23],
    ] as const) {
      await api.database.query(
        `INSERT INTO idempotency_keys (account_id, identity, key, fingerprint, recording_id, created_at)
         VALUES ($1, '', $2, '', gen_random_uuid(), now() - make_interval(hours => $3))`,
        [client.accountId, key, hours],
      );
    }
    const worker = await startService(api.environment, { ROLES: 'deliverer' });
    const keys = () =>
      api.database.query<{ key: string }>('SELECT key FROM idempotency_keys WHERE account_id = $1', [client.accountId]);
    await eventually(async () => (await keys()).length === 1);
    await eventually(async () => (await count(`event_id = '${old}'`)) === 0);
    expect(await keys()).toEqual([{ key: 'recent' }]);
    const left = await api.database.query<{ id: string }>('SELECT id FROM events WHERE account_id = $1', [
      client.accountId,
    ]);
    expect(left.map(({ id }) => id)).toEqual(expect.arrayContaining([pending, recent]));
    expect(left).toHaveLength(3);
    await worker.close();
  });
});
