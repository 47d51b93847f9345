import { randomUUID } from 'node:crypto';
import { getQueueToken } from '@nestjs/bull';
import {
  DeliveriesService,
  DELIVERY_QUEUE,
  type DeliveryJob,
} from '../../../src/modules/webhooks/deliveries/deliveries.service.js';
import { RemovedWebhooksService } from '../../../src/modules/webhooks/deliveries/removed-webhooks.service.js';
import { RedeliveriesService } from '../../../src/modules/webhooks/deliveries/redeliveries.service.js';
import type { JobQueue } from '../../../src/platform/queue/job-queue.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { failDelivery, failRecordings } from '../../support/state/recording-events.js';

const HOOK = { url: 'http://127.0.0.1:9/', events: ['recording.failed'] };

/** Sends nothing. */
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
  webhookId = (await client.post('/v1/webhooks', HOOK).expect(201)).body.id;
});

afterEach(() => jest.restoreAllMocks());

describe('a new event', () => {
  it('has a job for each webhook; deliveries have its time', async () => {
    const other: string = (await client.post('/v1/webhooks', HOOK).expect(201)).body.id;
    await failRecordings(api, client.accountId, 1);
    const rows = await api.database.query<{ webhook_id: string; event_id: string; same: boolean; due: boolean }>(
      `SELECT d.webhook_id, d.event_id, d.created_at = e.created_at AND d.updated_at = e.created_at AS same,
         d.next_attempt_at <= now() AS due
       FROM deliveries d JOIN events e ON e.id = d.event_id WHERE d.account_id = $1`,
      [client.accountId],
    );
    expect(rows.map(({ webhook_id: id }) => id).toSorted()).toEqual([webhookId, other].toSorted());
    expect(rows.every(({ same, due }) => same && due)).toBe(true);
    const expected = rows.map((row) => [{ webhookId: row.webhook_id }, { deduplicationKey: 'due' }]);
    expect(enqueue.mock.calls).toHaveLength(2);
    expect(enqueue.mock.calls).toEqual(expect.arrayContaining(expected));
  });
});

describe('webhooks with due deliveries', () => {
  it('are those of which no process holds a due delivery, those that do not fail first', async () => {
    const create = async (): Promise<string> => (await client.post('/v1/webhooks', HOOK)).body.id;
    const others = [await create(), await create()];
    await failRecordings(api, client.accountId, 1);
    await api.database.query('UPDATE webhooks SET failing_since = now() WHERE id = $1', [webhookId]);
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
    await api.database.query(`UPDATE webhooks SET status = 'disabled' WHERE account_id = $1`, [client.accountId]);
    await deliveries.failRemaining();
    const left = async () =>
      (
        await api.database.query(`SELECT 1 FROM deliveries WHERE account_id = $1 AND status = 'pending'`, [
          client.accountId,
        ])
      ).length;
    expect(await left()).toBe(101);
    await deliveries.failRemaining();
    expect(await left()).toBe(0);
  });
});

describe('a redelivery', () => {
  const rowOf = async (id: string) => {
    const [row] = await api.database.query(
      `SELECT status, attempts, attempts_before, last_response, next_attempt_at <= now() AS due,
         updated_at > now() - interval '1 minute' AS changed FROM deliveries WHERE id = $1`,
      [id],
    );
    return row;
  };
  const reopened = {
    status: 'pending',
    attempts: 5,
    attempts_before: 5,
    last_response: null,
    due: true,
    changed: true,
  };

  async function failed(): Promise<string> {
    const id = await failDelivery(api, client.accountId, webhookId);
    await api.database.query(
      `UPDATE deliveries SET attempts = 5, last_response = 'no', updated_at = now() - interval '1 hour' WHERE id = $1`,
      [id],
    );
    enqueue.mockClear();
    return id;
  }

  it('of one begins its schedule anew, with a job', async () => {
    const id = await failed();
    await client.post(`/v1/webhooks/${webhookId}/deliveries/${id}/redeliver`).expect(202);
    expect(await rowOf(id)).toEqual(reopened);
    expect(enqueue.mock.calls).toEqual([[{ webhookId }, { deduplicationKey: 'due' }]]);
  });

  it('of many does so, too, with one job', async () => {
    const ids = [await failed(), await failed()];
    const { body } = await client.post(`/v1/webhooks/${webhookId}/redeliver`, {}).expect(202);
    expect(body.count).toBe(2);
    for (const id of ids) expect(await rowOf(id)).toEqual(reopened);
    expect(enqueue.mock.calls).toEqual([[{ webhookId }, { deduplicationKey: 'due' }]]);
  });

  it('of what was missed makes deliveries of the time of the event, which are due at once', async () => {
    await client.put(`/v1/webhooks/${webhookId}`, { ...HOOK, status: 'disabled' }).expect(200);
    await failRecordings(api, client.accountId, 3);
    await client.put(`/v1/webhooks/${webhookId}`, { ...HOOK, status: 'active' }).expect(200);
    await client.post(`/v1/webhooks/${webhookId}/redeliver`, { status: 'missed' }).expect(202);
    const rows = await api.database.query(
      `SELECT d.status, d.attempts, d.created_at = e.created_at AS same, d.next_attempt_at <= now() AS due
       FROM deliveries d JOIN events e ON e.id = d.event_id WHERE d.webhook_id = $1`,
      [webhookId],
    );
    const missed = { status: 'pending', attempts: 0, same: true, due: true };
    expect(rows).toEqual([missed, missed, missed]);
  });

  it('leaves out what has ended since it began', async () => {
    const [before, since] = [await failed(), await failed()];
    await api.database.query('UPDATE deliveries SET updated_at = now() WHERE id = $1', [since]);
    await api.database.query(
      `INSERT INTO webhook_redeliveries
         (webhook_id, account_id, created_from, created_until, started_at, phase, after_at, after_id)
       VALUES ($1, $2, '-infinity', 'infinity', now() - interval '1 minute', 'deliveries', '-infinity', $3)`,
      [webhookId, client.accountId, '00000000-0000-0000-0000-000000000000'],
    );
    await api.app.get(RedeliveriesService).continueAll();
    expect(await rowOf(before)).toEqual(reopened);
    expect(await rowOf(since)).toMatchObject({ status: 'failed', attempts: 5, last_response: 'no' });
  });

  it('of none is no redelivery', async () => {
    const { body } = await client.post(`/v1/webhooks/${webhookId}/redeliver`, {}).expect(202);
    expect(body.count).toBe(0);
    expect(await api.database.query('SELECT 1 FROM webhook_redeliveries WHERE webhook_id = $1', [webhookId])).toEqual(
      [],
    );
    expect(enqueue).not.toHaveBeenCalled();
  });
});

describe('deliveries of deleted webhooks', () => {
  it('are deleted of 100 webhooks in a round', async () => {
    const ids = Array.from({ length: 101 }, () => randomUUID());
    await api.database.query('INSERT INTO removed_webhooks (webhook_id) SELECT unnest($1::uuid[])', [ids]);
    const removedWebhooks = api.app.get(RemovedWebhooksService);
    const left = async () => (await api.database.query('SELECT 1 FROM removed_webhooks')).length;
    await removedWebhooks.deleteRemaining();
    expect(await left()).toBe(1);
    await removedWebhooks.deleteRemaining();
    expect(await left()).toBe(0);
  });
});
