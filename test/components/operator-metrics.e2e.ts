import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { oldestUnsealedSeconds } from '../../src/modules/audit/audit-log.queries.js';
import { QuotaMetricsService } from '../../src/modules/recordings/quota-metrics.service.js';
import {
  claimBackground,
  claimFairest,
  readOldestUnprocessed,
} from '../../src/modules/recordings/leases/recording-claims.queries.js';
import { claimDueDeliveries, oldestDueDelivery } from '../../src/modules/webhooks/deliveries/deliveries.queries.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { useService } from '../../src/testing/test-service.js';
import { costOf } from '../support/state/statement-cost.js';
import { insertDeliveries, insertRecordings, type SqlColumns } from '../support/state/inserted-rows.js';

/** Without the worker's and the reconciler's rounds, so that what is due stays. */
const service = useService({ ROLES: 'api,deliverer', RECONCILE_SECONDS: '0' });
const query = <Row>(sql: string, parameters: unknown[] = []) => service.database.query<Row>(sql, parameters);
const ago = (seconds: number): string => `now() - make_interval(secs => ${seconds})`;

async function webhookOf(client: ApiClient): Promise<string> {
  const fields = { url: 'http://127.0.0.1:1/', events: ['recording.failed'] };
  const { body } = await client.post('/v1/webhooks').send(fields).expect(201);
  return (body as { id: string }).id;
}

describe('the recording without its text that was uploaded first', () => {
  const plans = async () =>
    Object.fromEntries(
      (await readOldestUnprocessed(service.database)).map(({ plan, oldestSeconds }) => [
        plan,
        Math.round(oldestSeconds / 60),
      ]),
    );
  const add = (client: ApiClient, minutes: number, columns: SqlColumns = {}) =>
    insertRecordings(service, client, { created_at: ago(minutes * 60), ...columns });

  beforeEach(() => query('DELETE FROM recordings'));

  it('is known by plan, whether it waits, is in progress or is to be tried again', async () => {
    const [free, pro, other] = await Promise.all(['free', 'pro', 'pro'].map((plan) => service.account(plan)));
    await add(free as ApiClient, 3);
    await add(pro as ApiClient, 5);
    const inProgress = { lease_until: `now() + interval '1 minute'`, lease_token: 'gen_random_uuid()', attempt: '1' };
    await add(other as ApiClient, 9, inProgress);
    expect(await plans()).toEqual({ free: 3, pro: 9 });
    await query('DELETE FROM recordings WHERE lease_token IS NOT NULL');
    await add(other as ApiClient, 7, { lease_until: ago(30), attempt: '2' });
    expect(await plans()).toEqual({ free: 3, pro: 7 });
    await query(`UPDATE accounts SET status = 'suspended' WHERE id = $1`, [other?.accountId]);
    expect(await plans()).toEqual({ free: 3, pro: 5 });
  });

  it('is none that waits for its link, has ended, or is of a test account', async () => {
    const client = await service.account('pro');
    await add(client, 90, { lease_until: `'infinity'` });
    await add(client, 80, { status: `'failed'` });
    await add(client, 2);
    expect(await plans()).toEqual({ pro: 2 });
    await query(`UPDATE accounts SET test_of = $2 WHERE id = $1`, [
      client.accountId,
      (await service.account()).accountId,
    ]);
    expect(await plans()).toEqual({});
    const { text } = await request(service.url).get('/metrics').expect(200);
    expect(text).toMatch(/^recordings_unprocessed_seconds\{plan="pro"\} 0$/m);
  });
});

describe('the delivery that waits for the service', () => {
  const oldest = async () => Math.round((await oldestDueDelivery(service.database)) / 60);
  const due = (minutes: number): SqlColumns => ({ next_attempt_at: ago(minutes * 60) });
  let client: ApiClient;
  let webhookId: string;

  beforeEach(async () => {
    await query('DELETE FROM deliveries');
    client = await service.account();
    webhookId = await webhookOf(client);
  });

  it('is the one that has been due for longest, however often it was tried', async () => {
    expect(await oldest()).toBe(0);
    await insertDeliveries(service, client, webhookId, due(2));
    await insertDeliveries(service, client, webhookId, { ...due(9), attempts: '3' });
    await insertDeliveries(service, client, await webhookOf(client), due(5));
    expect(await oldest()).toBe(9);
    await query(`UPDATE deliveries SET next_attempt_at = now() + interval '1 hour' WHERE attempts = 3`);
    expect(await oldest()).toBe(5);
  });

  it('is none that waits for a receiver: failing, disabled, suspended, or being sent to', async () => {
    await insertDeliveries(service, client, webhookId, due(9));
    const hiddenBy = async (set: string, undo: string) => {
      await query(set, [webhookId]);
      expect([set, await oldest()]).toEqual([set, 0]);
      await query(undo, [webhookId]);
      expect(await oldest()).toBe(9);
    };
    const setWebhook = (change: string) => `UPDATE webhooks SET ${change} WHERE id = $1`;
    await hiddenBy(setWebhook('failing_since = now(), consecutive_failures = 1'), setWebhook('failing_since = NULL'));
    await hiddenBy(setWebhook(`status = 'disabled'`), setWebhook(`status = 'active'`));
    const ofAccount = (status: string) =>
      `UPDATE accounts SET status = '${status}' WHERE id = (SELECT account_id FROM webhooks WHERE id = $1)`;
    await hiddenBy(ofAccount('suspended'), ofAccount('active'));
    const lease = (until: string) =>
      `UPDATE deliveries SET lease_token = gen_random_uuid(), lease_until = ${until} WHERE webhook_id = $1`;
    // The lease of a process that died hides nothing.
    await hiddenBy(lease(`now() + interval '20 seconds'`), lease(ago(1)));
  });

  it('costs a few pages for each webhook, however many deliveries it has', async () => {
    await insertDeliveries(service, client, webhookId, due(1), 20_000);
    await query('ANALYZE deliveries');
    const { pages, scanned } = await costOf(service.database, oldestDueDelivery);
    expect(scanned).not.toContain('deliveries');
    expect(pages).toBeLessThan(60);
  });
});

describe('a claim', () => {
  /** Of a process that died: its lease has expired. */
  const LOST: SqlColumns = { lease_until: ago(1), lease_token: 'gen_random_uuid()' };

  it('of a recording knows its plan, its age, and whether it is taken over from a lost worker', async () => {
    await query('DELETE FROM recordings');
    const lease = () => ({ leaseToken: randomUUID(), leaseSeconds: 60, held: [], exceptAccounts: [] });
    const rows: [SqlColumns, boolean][] = [
      [{}, false],
      [{ ...LOST, attempt: '1' }, true],
      // It waited for its next attempt.
      [{ lease_until: ago(1), attempt: '1' }, false],
    ];
    for (const [columns, isTakenOver] of rows) {
      await insertRecordings(service, await service.account('pro'), { created_at: ago(60), ...columns });
      const claimed = await claimFairest(service.database, lease());
      expect(claimed).toMatchObject({ plan: 'pro', isTakenOver, isTest: false });
      expect(claimed?.ageSeconds).toBeGreaterThan(59);
      expect(claimed?.ageSeconds).toBeLessThan(120);
    }
    const rerun = { status: `'transcribed'`, rerun: `'background'`, rerun_at: 'now()' };
    for (const [columns, isTakenOver] of rows) {
      await insertRecordings(service, await service.account('free'), { ...rerun, ...columns });
      expect(await claimBackground(service.database, lease())).toMatchObject({ plan: 'free', isTakenOver });
    }
  });

  it('of a delivery knows for how long it was due, and whether it is taken over from a lost process', async () => {
    const client = await service.account();
    const webhookId = await webhookOf(client);
    await insertDeliveries(service, client, webhookId, { next_attempt_at: ago(30), ...LOST, attempts: '1' });
    await insertDeliveries(service, client, webhookId, { next_attempt_at: ago(10) });
    const [lost, first] = await claimDueDeliveries(service.database, webhookId, 10).then((claimed) =>
      claimed.toSorted((a, b) => b.attempt - a.attempt),
    );
    expect([lost, first]).toMatchObject([
      { attempt: 2, isTakenOver: true },
      { attempt: 1, isTakenOver: false },
    ]);
    for (const [seconds, claimed] of [
      [30, lost],
      [10, first],
    ] as const) {
      expect(claimed?.dueSeconds).toBeGreaterThanOrEqual(seconds);
      expect(claimed?.dueSeconds).toBeLessThan(seconds + 20);
    }
  });
});

describe('the oldest entry of an audit log without a seal', () => {
  it('has waited since it was written', async () => {
    await query('DELETE FROM audit_entries');
    expect(await oldestUnsealedSeconds(service.database)).toBe(0);
    await webhookOf(await service.account());
    await query(`UPDATE audit_entries SET number = NULL, at = ${ago(120)}`);
    expect(Math.round((await oldestUnsealedSeconds(service.database)) / 60)).toBe(2);
  });
});

describe('accounts near the end of a quota', () => {
  it('are counted by what Postgres says that they have used', async () => {
    const client = await service.account('free');
    await query(
      `INSERT INTO usage_counter_deltas (account_id, day, status, listed, accepted, duration_ms, bytes, queued_ms,
         transcribed, failed) VALUES ($1, (now() AT TIME ZONE 'UTC')::date, 'transcribed', 1, 1, 34500000, 1, 0, 1, 0)`,
      [client.accountId],
    );
    const walker = service.app.get(QuotaMetricsService);
    await eventually(async () => {
      await walker.walk();
      const { text } = await request(service.url).get('/metrics').expect(200);
      const of = (quota: string, percent: number) =>
        new RegExp(`^accounts_near_quota\\{plan="free",quota="${quota}",percent="${percent}"\\} (\\d+)$`, 'm').exec(
          text,
        )?.[1];
      const month = [80, 95, 100].map((percent) => of('audio_seconds_per_month', percent));
      return month.join() === '1,1,0' && of('stored_bytes', 80) === '0';
    });
  });
});
