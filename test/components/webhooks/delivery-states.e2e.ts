import { randomUUID } from 'node:crypto';
import { getQueueToken } from '@nestjs/bull';
import {
  type ClaimedDelivery,
  markAttemptFailed,
  markDelivered,
} from '../../../src/modules/webhooks/deliveries/deliveries.queries.js';
import {
  DeliveriesService,
  DELIVERY_QUEUE,
  type DeliveryJob,
} from '../../../src/modules/webhooks/deliveries/deliveries.service.js';
import { hastenPending } from '../../../src/modules/webhooks/deliveries/redeliveries.queries.js';
import { RemovedWebhooksService } from '../../../src/modules/webhooks/deliveries/removed-webhooks.service.js';
import type { DeliveryOutcome } from '../../../src/modules/webhooks/sending/webhook-sender.service.js';
import { SecurityLogService } from '../../../src/platform/observability/security-log.service.js';
import type { SqlRunner, Tx } from '../../../src/platform/database/database.service.js';
import type { JobQueue } from '../../../src/platform/queue/job-queue.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { checkRows } from '../../support/check-rows.js';
import { reportMeasurement } from '../../support/service/measurements.js';
import { insertDeliveries, insertEvents, type SqlColumns } from '../../support/state/inserted-rows.js';
import { costOf } from '../../support/state/statement-cost.js';
import { failDelivery, failRecordings } from '../../support/state/recording-events.js';

const HOOK = { url: 'http://127.0.0.1:9/', events: ['recording.failed'] };
const OTHER = '00000000-0000-4000-8000-000000000000';
/** Longer than an attempt and its save may take, so that no other process sends it meanwhile. */
const LEASE_SECONDS = 30;
const ACCEPTED: DeliveryOutcome = {
  status: 200,
  errorKind: null,
  error: null,
  response: 'thanks',
  retryAfter: null,
  durationMs: 12,
};
const REFUSED: DeliveryOutcome = { ...ACCEPTED, status: 500, response: 'no', durationMs: 34 };
const GONE: DeliveryOutcome = { ...REFUSED, status: 410 };
const LOST: DeliveryOutcome = {
  ...ACCEPTED,
  status: null,
  errorKind: 'dns',
  error: 'no such host',
  response: null,
  durationMs: 56,
};

/** Sends nothing: only the test claims. */
const api = useService({ ROLES: 'api' });
let deliveries: DeliveriesService;
let enqueue: jest.SpyInstance;
let client: ApiClient;
let webhookId: string;

beforeAll(() => {
  deliveries = api.app.get(DeliveriesService);
});

beforeEach(async () => {
  enqueue = jest.spyOn(api.app.get<JobQueue<DeliveryJob>>(getQueueToken(DELIVERY_QUEUE)), 'enqueue');
  client = await api.account();
  webhookId = await createWebhook();
});

afterEach(() => jest.restoreAllMocks());

const createWebhook = async (): Promise<string> => (await client.post('/v1/webhooks', HOOK).expect(201)).body.id;

/** A new delivery that this process holds. */
async function claimed(): Promise<ClaimedDelivery> {
  await failRecordings(api, client.accountId, 1);
  const [delivery] = await deliveries.claim(webhookId, 1);
  if (!delivery) throw new Error('nothing was due');
  return delivery;
}

/** Makes it due again, as its next attempt. */
async function claimedAgain({ id }: ClaimedDelivery): Promise<ClaimedDelivery> {
  await set({ id }, 'next_attempt_at = now()');
  const [delivery] = await deliveries.claim(webhookId, 1);
  expect(delivery?.id).toBe(id);
  return delivery as ClaimedDelivery;
}

const set = ({ id }: Pick<ClaimedDelivery, 'id'>, assignments: string) =>
  api.database.query(`UPDATE deliveries SET ${assignments} WHERE id = $1`, [id]);
const setWebhook = (assignments: string) =>
  api.database.query(`UPDATE webhooks SET ${assignments} WHERE id = $1`, [webhookId]);

/** As if another process had claimed it. */
const takeOver = (delivery: ClaimedDelivery) => set(delivery, `lease_token = '${OTHER}', attempts = 2`);

async function count(condition = 'true'): Promise<number> {
  const [row] = await api.database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM deliveries WHERE webhook_id = $1 AND ${condition}`,
    [webhookId],
  );
  return row?.count ?? -1;
}

/** Times as seconds from now or before now. */
async function rowOf({ id }: Pick<ClaimedDelivery, 'id'>): Promise<Record<string, unknown>> {
  const [row] = await api.database.query<Record<string, unknown>>(
    `SELECT status, attempts, attempts_before, last_status, last_error_kind, last_error, last_duration_ms,
       last_response, lease_token, extract(epoch FROM lease_until - now())::float8 AS leased_for,
       extract(epoch FROM now() - last_attempt_at)::float8 AS last_attempt_ago,
       extract(epoch FROM next_attempt_at - now())::float8 AS next_attempt_in,
       extract(epoch FROM now() - updated_at)::float8 AS updated_ago
     FROM deliveries WHERE id = $1`,
    [id],
  );
  return row ?? {};
}

async function webhookRow(): Promise<Record<string, unknown>> {
  const [row] = await api.database.query<Record<string, unknown>>(
    `SELECT status, consecutive_failures, extract(epoch FROM now() - failing_since)::float8 AS failing_for,
       extract(epoch FROM now() - updated_at)::float8 AS updated_ago FROM webhooks WHERE id = $1`,
    [webhookId],
  );
  return row ?? {};
}

/** Within the seconds that a busy machine takes for a test. */
function expectSeconds(value: unknown, seconds: number, slack = 8): void {
  expect(value).toBeGreaterThan(seconds - slack);
  expect(value).toBeLessThan(seconds + slack);
}

const ago = (seconds: number): number => performance.now() - seconds * 1000;

describe('a new event', () => {
  it('has a job for each webhook; deliveries have its time', async () => {
    const both = [webhookId, await createWebhook()];
    await failRecordings(api, client.accountId, 1);
    const rows = await api.database.query<{ id: string; same: boolean; due: boolean }>(
      `SELECT d.webhook_id AS id, d.created_at = e.created_at AND d.updated_at = e.created_at AS same,
         d.next_attempt_at <= now() AS due
       FROM deliveries d JOIN events e ON e.id = d.event_id WHERE d.account_id = $1`,
      [client.accountId],
    );
    expect(rows).toHaveLength(2);
    expect(rows).toEqual(expect.arrayContaining(both.map((id) => ({ id, same: true, due: true }))));
    expect(enqueue.mock.calls).toHaveLength(2);
    const jobs = both.map((id) => [{ webhookId: id }, { deduplicationKey: 'due' }]);
    expect(enqueue.mock.calls).toEqual(expect.arrayContaining(jobs));
  });
});

describe('webhooks with due deliveries', () => {
  it('are those of which no process holds a due delivery, those that do not fail first', async () => {
    const others = [await createWebhook(), await createWebhook()];
    await failRecordings(api, client.accountId, 1);
    await setWebhook('failing_since = now()');
    for (let i = 0; i < 5; i++) {
      const found = await deliveries.webhooksWithDue();
      const ours = found.filter((id) => [webhookId, ...others].includes(id));
      expect(ours.slice(0, 2).toSorted()).toEqual(others.toSorted());
      expect(ours[2]).toBe(webhookId);
    }
    await deliveries.claim(webhookId, 1);
    expect(await deliveries.webhooksWithDue()).not.toContain(webhookId);
  });

  it('are 1000 in a round, so are disabled ones', async () => {
    await failRecordings(api, client.accountId, 1);
    await api.database.query(
      `WITH hooks AS (
         INSERT INTO webhooks (id, account_id, url, events, encrypted_secret, status, consecutive_failures, created_at, updated_at)
         SELECT gen_random_uuid(), account_id, url, events, encrypted_secret, status, 0, now(), now()
         FROM webhooks, generate_series(1, 1100) WHERE id = $1 RETURNING id)
       INSERT INTO deliveries (id, account_id, event_id, webhook_id, status, next_attempt_at, created_at, updated_at)
       SELECT gen_random_uuid(), d.account_id, d.event_id, hooks.id, 'pending', now(), now(), now()
       FROM hooks, deliveries d WHERE d.webhook_id = $1`,
      [webhookId],
    );
    expect(await deliveries.webhooksWithDue()).toHaveLength(1000);
    const left: number[] = [];
    await api.database.query(`UPDATE webhooks SET status = 'disabled' WHERE account_id = $1`, [client.accountId]);
    for (let round = 0; round < 2; round++) {
      await deliveries.failRemaining();
      const pending = `SELECT 1 FROM deliveries WHERE account_id = $1 AND status = 'pending'`;
      left.push((await api.database.query(pending, [client.accountId])).length);
    }
    expect(left).toEqual([101, 0]);
  });
});

describe('the outcome of an attempt', () => {
  it('is not recorded without the lease: the row belongs to the new holder', () =>
    checkRows([[ACCEPTED], [REFUSED]], async (outcome) => {
      const delivery = await claimed();
      await takeOver(delivery);
      await deliveries.record(delivery, outcome);
      expect(await rowOf(delivery)).toMatchObject({ status: 'pending', lease_token: OTHER, last_status: null });
      expect(await webhookRow()).toMatchObject({ consecutive_failures: 0 });
    }));

  it('replaces the error of the attempt before, and has the time at which the attempt began', async () => {
    const delivery = await claimed();
    expect(await rowOf(delivery)).toMatchObject({ status: 'pending', attempts: 1, lease_token: delivery.leaseToken });
    expectSeconds((await rowOf(delivery)).leased_for, LEASE_SECONDS);
    const free = { lease_token: null, leased_for: null };
    const delayMs = (await deliveries.record(delivery, LOST, ago(200))) ?? 0;
    const lost = await rowOf(delivery);
    const error = { last_status: null, last_error_kind: 'dns', last_error: 'no such host', last_duration_ms: 56 };
    expect(lost).toMatchObject({ ...free, ...error, status: 'pending' });
    expectSeconds(lost.last_attempt_ago, 200);
    expectSeconds(lost.next_attempt_in, delayMs / 1000);
    expect(await deliveries.record(delivery, REFUSED)).toBeNull();

    await deliveries.record(await claimedAgain(delivery), ACCEPTED, ago(100));
    const accepted = await rowOf(delivery);
    expect(accepted).toMatchObject({
      ...free,
      status: 'delivered',
      attempts: 2,
      last_status: 200,
      last_error_kind: null,
      last_error: null,
      last_duration_ms: 12,
      last_response: 'thanks',
      next_attempt_in: null,
    });
    expectSeconds(accepted.last_attempt_ago, 100);
    expectSeconds(accepted.updated_ago, 0);
  });

  it('costs the same however many others are pending, also while the statistics say that none is', async () => {
    const { id, leaseToken } = await claimed();
    await set({ id }, `status = 'delivered', next_attempt_at = NULL`);
    await insertDeliveries(api, client, webhookId, { status: `'delivered'` }, 5000);
    await api.database.query('VACUUM (ANALYZE) deliveries');
    await set({ id }, `status = 'pending', attempts_before = attempts, next_attempt_at = now()`);
    await insertDeliveries(api, client, webhookId, {}, 5000);
    const [outcome, failed] = [
      { id, leaseToken, status: 200, durationMs: 1, agoMs: 1, response: null },
      { errorKind: null, error: null, delayMs: 1000 },
    ];
    const statements: Record<string, (runner: SqlRunner) => Promise<unknown>> = {
      'delivered, alone': (runner) => markDelivered(runner, [outcome], { skipLocked: false }),
      'delivered, with others': (runner) => markDelivered(runner, [outcome, outcome], { skipLocked: true }),
      failed: (runner) => markAttemptFailed(runner as Tx, { ...outcome, ...failed }),
      hastened: (runner) => hastenPending(runner as Tx, id, { startSeconds: -1, intervalSeconds: 0 }),
    };
    await checkRows(Object.entries(statements), async (_, statement) => {
      const { pages, indexes } = await costOf(api.database, statement);
      expect(indexes).not.toContain('deliveries_due_idx');
      expect(pages).toBeLessThan(100);
    });
  });

  it('without a time of its own began as long ago as it took', async () => {
    const delivery = await claimed();
    await deliveries.record(delivery, { ...ACCEPTED, durationMs: 100_000 });
    expectSeconds((await rowOf(delivery)).last_attempt_ago, 100);
  });
});

describe('the log of deliveries', () => {
  it('has the attempts by their number, each with the time at which it began', async () => {
    const delivery = await claimed();
    await deliveries.record(delivery, REFUSED, ago(100));
    // As if the clock had been set back between the two.
    await deliveries.record(await claimedAgain(delivery), LOST, ago(300));
    await deliveries.record(await claimedAgain(delivery), ACCEPTED, ago(200));
    const { body } = await client.get(`/v1/webhooks/${webhookId}/deliveries/${delivery.id}`).expect(200);
    const secondsAgo = (time: string) => (Date.now() - Date.parse(`${time}Z`)) / 1000;
    const attempts: { number: number; duration_ms: number; started_at: string }[] = body.attempts;
    expect(attempts.map(({ number, duration_ms: ms }) => [number, ms])).toEqual([
      [1, 34],
      [2, 56],
      [3, 12],
    ]);
    for (const [i, seconds] of [100, 300, 200].entries()) {
      expectSeconds(secondsAgo(attempts[i]?.started_at ?? ''), seconds);
    }
    expect(body).toMatchObject({ attempts_count: 3, last_status: 200, last_duration_ms: 12, last_error: null });
    expectSeconds(secondsAgo(body.last_attempt_at), 200);
  });

  it('has a fixed order also for deliveries of the same instant: by id, the last first', async () => {
    const ids = await insertDeliveries(api, client, webhookId, { created_at: `'2026-11-01T00:00:00Z'` }, 6);
    const listed: string[] = [];
    for (let page = 0; page < 6; page++) {
      const { body } = await client.get(`/v1/webhooks/${webhookId}/deliveries?limit=1&page=${page}`).expect(200);
      listed.push(body.deliveries[0].id);
    }
    expect(listed).toEqual(ids.toSorted().toReversed());
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
    await takeOver(delivery);
    await deliveries.release(delivery);
    expect(await rowOf(delivery)).toMatchObject({ lease_token: OTHER, attempts: 2 });
  });

  it('is claimed before those that are due for a shorter time', async () => {
    const due = await insertDeliveries(
      api,
      client,
      webhookId,
      { next_attempt_at: `now() - make_interval(mins => i * 3 % 5)` },
      5,
    );
    const order: string[] = [];
    for (let i = 0; i < 5; i++) order.push(...(await deliveries.claim(webhookId, 1)).map(({ id }) => id));
    expect(order).toEqual([3, 1, 4, 2, 5].map((i) => due[i - 1]));
  });

  it('is not claimed while another holds it, nor before it is due', async () => {
    const { id } = await claimed();
    expect(await deliveries.claim(webhookId, 4)).toEqual([]);
    await set({ id }, `lease_until = now() - interval '1 second'`);
    expect(await deliveries.claim(webhookId, 4)).toMatchObject([{ id, attempt: 2 }]);
    await set({ id }, `lease_until = NULL, lease_token = NULL, next_attempt_at = now() + interval '1 minute'`);
    expect(await deliveries.claim(webhookId, 4)).toEqual([]);
  });
});

describe('a webhook that fails', () => {
  it('has failed since the first failure after its last success', async () => {
    await deliveries.record(await claimed(), REFUSED);
    expectSeconds((await webhookRow()).failing_for, 0);
    await setWebhook(`failing_since = now() - interval '1 hour'`);
    await deliveries.record(await claimed(), LOST);
    const failing = await webhookRow();
    expect(failing).toMatchObject({ status: 'active', consecutive_failures: 2 });
    expectSeconds(failing.failing_for, 3600);
    await deliveries.record(await claimed(), ACCEPTED);
    expect(await webhookRow()).toMatchObject({ consecutive_failures: 0, failing_for: null });
  });

  it('is disabled once, with a line in the security log and a new time of change', async () => {
    const record = jest.spyOn(api.app.get(SecurityLogService), 'record');
    const [first, second] = [await claimed(), await claimed()];
    await setWebhook(`updated_at = now() - interval '1 hour'`);
    expect(await deliveries.record(first, GONE)).toBeNull();
    const disabled = await webhookRow();
    expect(disabled).toMatchObject({ status: 'disabled', consecutive_failures: 1 });
    expectSeconds(disabled.updated_ago, 0);
    const fields = { by: 'service', account_id: client.accountId, webhook_id: webhookId };
    expect(record.mock.calls).toEqual([['webhook disabled', fields]]);
    const failed = { status: 'failed', lease_token: null, leased_for: null, next_attempt_in: null };
    expect(await rowOf(first)).toMatchObject({ ...failed, last_status: 410 });
    expect(await rowOf(second)).toMatchObject({ ...failed, last_error: 'webhook disabled', last_error_kind: null });
    await deliveries.record(second, GONE);
    expect(record).toHaveBeenCalledTimes(1);
  });

  it('is not disabled again by an attempt that was in progress', async () => {
    const record = jest.spyOn(api.app.get(SecurityLogService), 'record');
    const delivery = await claimed();
    // As a process does that has not seen the change of its row yet.
    await setWebhook(`status = 'disabled', updated_at = now() - interval '1 hour'`);
    await deliveries.record(delivery, GONE);
    expectSeconds((await webhookRow()).updated_ago, 3600);
    expect(record).not.toHaveBeenCalled();
  });
});

describe('a webhook that is disabled', () => {
  it('has no delivery claimed', async () => {
    await failRecordings(api, client.accountId, 1);
    await setWebhook(`status = 'disabled'`);
    expect(await deliveries.claim(webhookId, 4)).toEqual([]);
    expect(await deliveries.webhooksWithDue()).not.toContain(webhookId);
    await setWebhook(`status = 'active'`);
    expect(await deliveries.claim(webhookId, 4)).toHaveLength(1);
  });

  it('is disabled at once however many deliveries it has; they fail in batches', async () => {
    await insertDeliveries(api, client, webhookId, {}, 2500);
    await client.put(`/v1/webhooks/${webhookId}`, { ...HOOK, status: 'disabled' }).expect(200);
    expect(await deliveries.claim(webhookId, 4)).toEqual([]);
    expect(await count(`status = 'pending'`)).toBe(1500);
    await deliveries.failRemaining();
    expect(await count(`status = 'failed' AND last_error = 'webhook disabled'`)).toBe(2500);
  });
});

describe('a webhook that is deleted', () => {
  const removeRest = () => api.app.get(RemovedWebhooksService).deleteRemaining();
  const removed = async (): Promise<number> => (await api.database.query('SELECT FROM removed_webhooks')).length;

  it('is gone at once however many deliveries it has; they are deleted in batches', async () => {
    await insertDeliveries(api, client, webhookId, {}, 20_500);
    const started = performance.now();
    await client.delete(`/v1/webhooks/${webhookId}`).expect(204);
    reportMeasurement(`DELETE of a webhook with 20,500 deliveries: ${Math.round(performance.now() - started)} ms`);
    await client.get(`/v1/webhooks/${webhookId}`).expect(404);
    expect(await deliveries.claim(webhookId, 4)).toEqual([]);
    expect(await count()).toBe(19_500);
    await removeRest();
    expect([await count(), await removed()]).toEqual([0, 0]);
  });

  it('is one of 100 of which the rest is deleted in a round', async () => {
    const ids = Array.from({ length: 101 }, () => randomUUID());
    await api.database.query('INSERT INTO removed_webhooks (webhook_id) SELECT unnest($1::uuid[])', [ids]);
    await removeRest();
    expect(await removed()).toBe(1);
    await removeRest();
    expect(await removed()).toBe(0);
  });
});

describe('a redelivery', () => {
  async function failed(): Promise<{ id: string }> {
    const id = await failDelivery(api, client.accountId, webhookId);
    await set({ id }, `attempts = 5, last_response = 'no', updated_at = now() - interval '1 hour'`);
    enqueue.mockClear();
    return { id };
  }

  async function expectReopened(delivery: { id: string }): Promise<void> {
    const row = await rowOf(delivery);
    expect(row).toMatchObject({ status: 'pending', attempts: 5, attempts_before: 5, last_response: null });
    expectSeconds(row.next_attempt_in, 0);
    expectSeconds(row.updated_ago, 0);
  }

  it('of one, and of many with one job, begins the schedule anew, at once; of none there is no job', async () => {
    const path = `/v1/webhooks/${webhookId}`;
    const many = async () => (await client.post(`${path}/redeliver`, {}).expect(202)).body.count;
    const job = [{ webhookId }, { deduplicationKey: 'due' }];
    expect(await many()).toBe(0);
    expect(enqueue).not.toHaveBeenCalled();
    const ended = [await failed(), await failed()] as const;
    expect(await many()).toBe(2);
    expect(enqueue.mock.calls).toEqual([job]);
    for (const delivery of ended) await expectReopened(delivery);
    const other = await failed();
    await client.post(`${path}/deliveries/${other.id}/redeliver`).expect(202);
    expect(enqueue.mock.calls).toEqual([job]);
    await expectReopened(other);
  });
});

describe('the reconciler', () => {
  it('deletes events and idempotency keys past their retention, and nothing else', async () => {
    const daysOld = (days: number): SqlColumns => ({ created_at: `now() - make_interval(days => ${days})` });
    const later = { next_attempt_at: `now() + interval '1 hour'` };
    await insertDeliveries(api, client, webhookId, { ...daysOld(31), status: `'failed'` });
    const pending = await insertDeliveries(api, client, webhookId, { ...daysOld(31), ...later });
    const recent = await insertDeliveries(api, client, webhookId, { ...daysOld(29), status: `'failed'` });
    const [young = ''] = await insertEvents(api, client);
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
    await eventually(async () => (await count()) === 2);
    expect(await keys()).toEqual([{ key: 'recent' }]);
    const left = await api.database.query<{ event: string; delivery: string | null }>(
      `SELECT e.id AS event, d.id AS delivery FROM events e LEFT JOIN deliveries d ON d.event_id = e.id
       WHERE e.account_id = $1`,
      [client.accountId],
    );
    expect(left.map(({ event, delivery }) => delivery ?? event).toSorted()).toEqual(
      [...pending, ...recent, young].toSorted(),
    );
    await worker.close();
  });
});
