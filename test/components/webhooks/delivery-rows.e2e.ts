import type { ClaimedDelivery } from '../../../src/modules/webhooks/deliveries/deliveries.queries.js';
import { DeliveriesService } from '../../../src/modules/webhooks/deliveries/deliveries.service.js';
import type { DeliveryOutcome } from '../../../src/modules/webhooks/sending/webhook-sender.service.js';
import { SecurityLogService } from '../../../src/platform/observability/security-log.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { failRecordings } from '../../support/state/recording-events.js';

const HOOK = { url: 'http://127.0.0.1:9/', events: ['recording.failed'] };
/** Longer than an attempt and its save may take, so that no other process sends it meanwhile. */
const LEASE_SECONDS = 30;
const SCHEDULE = [60, 900];
const ACCEPTED: DeliveryOutcome = {
  status: 200,
  errorKind: null,
  error: null,
  response: 'thanks',
  retryAfter: null,
  durationMs: 12,
};
const REFUSED: DeliveryOutcome = { ...ACCEPTED, status: 500, response: 'no', durationMs: 34 };
const LOST: DeliveryOutcome = {
  ...ACCEPTED,
  status: null,
  errorKind: 'dns',
  error: 'no such host',
  response: null,
  durationMs: 56,
};

/** Sends nothing: only the test claims. */
const api = useService({ ROLES: 'api', WEBHOOK_RETRY_SCHEDULE: SCHEDULE.join(',') });
let deliveries: DeliveriesService;
let client: ApiClient;
let webhookId: string;

beforeAll(() => {
  deliveries = api.app.get(DeliveriesService);
});

beforeEach(async () => {
  client = await api.account();
  webhookId = (await client.post('/v1/webhooks', HOOK).expect(201)).body.id;
});

afterEach(() => jest.restoreAllMocks());

async function claimed(count = 1): Promise<ClaimedDelivery[]> {
  await failRecordings(api, client.accountId, count);
  const found = await deliveries.claim(webhookId, count);
  expect(found).toHaveLength(count);
  return found;
}

/** Makes it due again, as its next attempt. */
async function claimedAgain({ id }: ClaimedDelivery): Promise<ClaimedDelivery> {
  await api.database.query('UPDATE deliveries SET next_attempt_at = now() WHERE id = $1', [id]);
  const [delivery] = await deliveries.claim(webhookId, 1);
  expect(delivery?.id).toBe(id);
  return delivery as ClaimedDelivery;
}

/** Times as seconds before now. */
async function rowOf({ id }: Pick<ClaimedDelivery, 'id'>): Promise<Record<string, unknown>> {
  const [row] = await api.database.query<Record<string, unknown>>(
    `SELECT status, attempts, last_status, last_error_kind, last_error, last_duration_ms, last_response,
       lease_token, extract(epoch FROM lease_until - now())::float8 AS leased_for,
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

const setWebhook = (set: string) => api.database.query(`UPDATE webhooks SET ${set} WHERE id = $1`, [webhookId]);

/** Within the seconds that a busy machine takes for a test. */
function expectSeconds(value: unknown, seconds: number, slack = 8): void {
  expect(value).toBeGreaterThan(seconds - slack);
  expect(value).toBeLessThan(seconds + slack);
}

const ago = (seconds: number): number => performance.now() - seconds * 1000;

describe('a claimed delivery', () => {
  it('is leased for longer than an attempt takes, counts the attempt and has its time', async () => {
    const [delivery] = (await claimed()) as [ClaimedDelivery];
    const row = await rowOf(delivery);
    expect(row).toMatchObject({ status: 'pending', attempts: 1, lease_token: delivery.leaseToken });
    expectSeconds(row.leased_for, LEASE_SECONDS);
    expectSeconds(row.last_attempt_ago, 0);
    expect(delivery).toMatchObject({ accountId: client.accountId, webhookId, url: HOOK.url, attemptsBefore: 0 });
  });

  it('tells whether its webhook was failing', async () => {
    const [first] = (await claimed()) as [ClaimedDelivery];
    expect(first.webhookIsFailing).toBe(false);
    await deliveries.record(first, REFUSED);
    expect((await claimedAgain(first)).webhookIsFailing).toBe(true);
  });
});

describe('the outcome of an attempt', () => {
  it('of success has the time at which the attempt began, and nothing of an earlier failure', async () => {
    const [delivery] = (await claimed()) as [ClaimedDelivery];
    await deliveries.record(delivery, LOST);
    await deliveries.record(await claimedAgain(delivery), ACCEPTED, ago(100));
    const row = await rowOf(delivery);
    expect(row).toMatchObject({
      status: 'delivered',
      attempts: 2,
      last_status: 200,
      last_error_kind: null,
      last_error: null,
      last_duration_ms: 12,
      last_response: 'thanks',
      lease_token: null,
      leased_for: null,
      next_attempt_in: null,
    });
    expectSeconds(row.last_attempt_ago, 100);
    expectSeconds(row.updated_ago, 0);
  });

  it('of failure has it, too, and is in the log', async () => {
    const [delivery] = (await claimed()) as [ClaimedDelivery];
    await deliveries.record(delivery, LOST, ago(100));
    const row = await rowOf(delivery);
    expect(row).toMatchObject({
      status: 'pending',
      attempts: 1,
      last_status: null,
      last_error_kind: 'dns',
      last_error: 'no such host',
      last_duration_ms: 56,
      lease_token: null,
      leased_for: null,
    });
    expectSeconds(row.last_attempt_ago, 100);
    expectSeconds(row.next_attempt_in, 60, 20);
    const logged = await api.database.query(
      `SELECT number, status, error, reason, duration_ms, response,
         round(extract(epoch FROM now() - started_at) / 20)::int * 20 AS ago
       FROM delivery_attempts WHERE delivery_id = $1`,
      [delivery.id],
    );
    expect(logged).toEqual([
      { number: 1, status: null, error: 'dns', reason: 'no such host', duration_ms: 56, response: null, ago: 100 },
    ]);
  });

  it('without a time of its own began as long ago as it took', async () => {
    const [delivery] = (await claimed()) as [ClaimedDelivery];
    await deliveries.record(delivery, { ...ACCEPTED, durationMs: 100_000 });
    expectSeconds((await rowOf(delivery)).last_attempt_ago, 100);
  });
});

describe('the log of deliveries', () => {
  it('has the attempts by their number, each with the time at which it began', async () => {
    const [delivery] = (await claimed()) as [ClaimedDelivery];
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
    const ids = (await claimed(6)).map(({ id }) => id);
    await api.database.query(`UPDATE deliveries SET created_at = '2026-11-01T00:00:00Z' WHERE webhook_id = $1`, [
      webhookId,
    ]);
    const listed: string[] = [];
    for (let page = 0; page < 6; page++) {
      const { body } = await client.get(`/v1/webhooks/${webhookId}/deliveries?limit=1&page=${page}`).expect(200);
      listed.push(body.deliveries[0].id);
    }
    expect(listed).toEqual(ids.toSorted().toReversed());
  });
});

describe('a webhook that fails', () => {
  it('has failed since the first failure after its last success', async () => {
    const [first, second, third] = (await claimed(3)) as [ClaimedDelivery, ClaimedDelivery, ClaimedDelivery];
    await deliveries.record(first, REFUSED);
    expectSeconds((await webhookRow()).failing_for, 0);
    await setWebhook(`failing_since = now() - interval '1 hour'`);
    await deliveries.record(second, LOST);
    const failing = await webhookRow();
    expect(failing).toMatchObject({ status: 'active', consecutive_failures: 2 });
    expectSeconds(failing.failing_for, 3600);
    await deliveries.record({ ...third, webhookIsFailing: true }, ACCEPTED);
    expect(await webhookRow()).toMatchObject({ consecutive_failures: 0, failing_for: null });
  });

  it('tells when its next attempt is due, unless the lease was lost', async () => {
    const [delivery] = (await claimed()) as [ClaimedDelivery];
    const delayMs = await deliveries.record(delivery, REFUSED);
    expectSeconds((delayMs ?? 0) / 1000, 60, 20);
    expectSeconds((await rowOf(delivery)).next_attempt_in, (delayMs ?? 0) / 1000);
    expect(await deliveries.record(delivery, REFUSED)).toBeNull();
  });

  it('has its delivery failed after the last attempt, with the log of all', async () => {
    const [delivery] = (await claimed()) as [ClaimedDelivery];
    await deliveries.record(delivery, REFUSED);
    await deliveries.record(await claimedAgain(delivery), REFUSED);
    await deliveries.record(await claimedAgain(delivery), REFUSED);
    expect(await rowOf(delivery)).toMatchObject({ status: 'failed', attempts: 3, next_attempt_in: null });
    const { body } = await client.get(`/v1/webhooks/${webhookId}/deliveries/${delivery.id}`).expect(200);
    expect(body.attempts.map(({ number }: { number: number }) => number)).toEqual([1, 2, 3]);
  });

  it('is disabled once, with a line in the security log and a new time of change', async () => {
    const record = jest.spyOn(api.app.get(SecurityLogService), 'record');
    const [first, second] = (await claimed(2)) as [ClaimedDelivery, ClaimedDelivery];
    await setWebhook(`updated_at = now() - interval '1 hour'`);
    expect(await deliveries.record(first, { ...REFUSED, status: 410 })).toBeNull();
    const disabled = await webhookRow();
    expect(disabled).toMatchObject({ status: 'disabled', consecutive_failures: 1 });
    expectSeconds(disabled.updated_ago, 0);
    const fields = { by: 'service', account_id: client.accountId, webhook_id: webhookId };
    expect(record.mock.calls).toEqual([['webhook disabled', fields]]);
    const failed = { status: 'failed', lease_token: null, leased_for: null, next_attempt_in: null };
    expect(await rowOf(first)).toMatchObject({ ...failed, last_status: 410 });
    expect(await rowOf(second)).toMatchObject({ ...failed, last_error: 'webhook disabled', last_error_kind: null });
    await deliveries.record(second, { ...REFUSED, status: 410 });
    expect(record).toHaveBeenCalledTimes(1);
  });

  it('is not disabled again by an attempt that was in progress', async () => {
    const record = jest.spyOn(api.app.get(SecurityLogService), 'record');
    const [delivery] = (await claimed()) as [ClaimedDelivery];
    // As a process does that has not seen the change of its row yet.
    await setWebhook(`status = 'disabled', updated_at = now() - interval '1 hour'`);
    await deliveries.record(delivery, { ...REFUSED, status: 410 });
    expectSeconds((await webhookRow()).updated_ago, 3600);
    expect(record).not.toHaveBeenCalled();
  });
});
