import request from 'supertest';
import { DeliveriesService } from '../../../../src/modules/webhooks/deliveries/deliveries.service.js';
import type { ClaimedDelivery } from '../../../../src/modules/webhooks/deliveries/deliveries.queries.js';
import { RedeliveriesService } from '../../../../src/modules/webhooks/deliveries/redeliveries.service.js';
import type { DeliveryView } from '../../../../src/modules/webhooks/deliveries/deliveries.dto.js';
import { checkRows } from '../../../support/check-rows.js';
import type { ApiClient } from '../../../../src/testing/api-client.js';
import { eventually } from '../../../../src/testing/eventually.js';
import { startService, type TestService, useService } from '../../../../src/testing/test-service.js';
import { type ReceivedRequest, signatureProblems, WebhookReceiver } from '../../../../src/testing/webhook-receiver.js';
import { expectError, expectInvalid, statusesOf } from '../../../support/http/expect-errors.js';
import { DELIVERY } from '../../../support/http/response-shapes.js';
import { reportMeasurement } from '../../../support/service/measurements.js';
import { failRecordings } from '../../../support/state/recording-events.js';

/** Two attempts, and a receiver that can take any number. */
const VARIABLES = { WEBHOOK_RETRY_SCHEDULE: '1', REDELIVERIES_PER_SECOND: '10000' };
/** Sends nothing: a test claims, or starts a worker. */
const api = useService({ ...VARIABLES, ROLES: 'api' });

const EVENTS = ['recording.failed'];
const SUCCESS = { status: 200, errorKind: null, error: null, response: 'ok', retryAfter: null, durationMs: 5 };
const receivers: WebhookReceiver[] = [];
let client: ApiClient;
let deliveries: DeliveriesService;

beforeEach(async () => {
  client = await api.account();
  deliveries = api.app.get(DeliveriesService);
});

afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
});

async function newReceiver(): Promise<WebhookReceiver> {
  const receiver = await WebhookReceiver.listen();
  receivers.push(receiver);
  return receiver;
}

interface Hook {
  id: string;
  url: string;
  secret: string;
}

async function hook(url = 'http://127.0.0.1:9/'): Promise<Hook> {
  return (await client.post('/v1/webhooks', { url, events: EVENTS }).expect(201)).body;
}

const put = ({ id, url }: Hook, fields: object) =>
  client.put(`/v1/webhooks/${id}`, { url, events: EVENTS, ...fields }).expect(200);
const redeliver = ({ id }: Hook, delivery: string) =>
  client.post(`/v1/webhooks/${id}/deliveries/${delivery}/redeliver`);
const redeliverMany = ({ id }: Hook, body: object = {}) => client.post(`/v1/webhooks/${id}/redeliver`, body);

async function countOf(answer: ReturnType<typeof redeliverMany>): Promise<number> {
  const { body } = await answer.expect(202);
  expect(body).toEqual({
    count: expect.any(Number),
    uri: expect.stringMatching(/^\/v1\/webhooks\/[^/]+\/deliveries$/),
  });
  return body.count;
}

async function listed({ id }: Hook, query = ''): Promise<DeliveryView[]> {
  return (await client.get(`/v1/webhooks/${id}/deliveries?limit=100${query}`).expect(200)).body.deliveries;
}

const total = async ({ id }: Hook, query = ''): Promise<number> =>
  (await client.get(`/v1/webhooks/${id}/deliveries?limit=1${query}`).expect(200)).body.total;

async function claim({ id }: Hook): Promise<ClaimedDelivery> {
  const [claimed] = await deliveries.claim(id, 1);
  if (!claimed) throw new Error('nothing was due');
  return claimed;
}

/** A webhook with one delivery that has ended. */
async function ended(status: 200 | 500): Promise<{ made: Hook; id: string; claimed: ClaimedDelivery }> {
  const made = await hook();
  await failRecordings(api, client.accountId, 1);
  const claimed = await claim(made);
  const last = status === 200 ? claimed : { ...claimed, attempt: 2 };
  await deliveries.record(last, { ...SUCCESS, status });
  return { made, id: claimed.id, claimed };
}

/** Events for which there is no delivery: more than one batch. */
async function missedEvents(count: number): Promise<void> {
  await api.database.query(
    `INSERT INTO events (id, account_id, sequence, kind, recording_id, run, body, created_at)
     SELECT gen_random_uuid(), $1, i, 'recording.failed', gen_random_uuid(), 1, json_build_object('n', i), now()
     FROM generate_series(1000, 999 + $2::int) i`,
    [client.accountId, count],
  );
}

describe('D39: redelivery of one', () => {
  it.each([200, 500] as const)('makes a delivery that ended with a %i pending again, at once', async (status) => {
    const { made, id } = await ended(status);
    const { body } = await redeliver(made, id).expect(202);
    expect(body).toStrictEqual({ ...DELIVERY, id, status: 'pending', attempts_count: 1, last_status: status });
    expect(await claim(made)).toMatchObject({ id, attempt: 2, attemptsBefore: 1 });
    const { body: found } = await client.get(body.uri).expect(200);
    expect(found.attempts).toMatchObject([{ number: 1, status, duration_ms: 5, response: 'ok' }]);
  });

  it('D66: makes one that waits for a retry due at once, within its schedule', async () => {
    const made = await hook();
    await failRecordings(api, client.accountId, 1);
    const [{ id }] = (await listed(made)) as [DeliveryView];
    await redeliver(made, id).expect(202);
    await deliveries.record(await claim(made), { ...SUCCESS, status: 500 });
    await api.database.query(`UPDATE deliveries SET next_attempt_at = now() + interval '1 day' WHERE id = $1`, [id]);
    expect(await deliveries.claim(made.id, 4)).toHaveLength(0);
    const { body } = await redeliver(made, id).expect(202);
    expect(body).toMatchObject({ id, status: 'pending', attempts_count: 1 });
    expect(await claim(made)).toMatchObject({ id, attempt: 2, attemptsBefore: 0 });
    // One that is being sent stays as it is.
    await redeliver(made, id).expect(202);
    expect(await deliveries.claim(made.id, 4)).toHaveLength(0);
    expect(await listed(made)).toMatchObject([{ attempts_count: 2, status: 'pending' }]);
  });

  it('of many at the same time makes one', async () => {
    const { made, id } = await ended(200);
    const answers = await Promise.all(Array.from({ length: 8 }, () => redeliver(made, id)));
    expect(statusesOf(answers)).toEqual(Array<number>(8).fill(202));
    expect(await deliveries.claim(made.id, 4)).toHaveLength(1);
    const { body } = await client.get(`/v1/webhooks/${made.id}/deliveries/${id}`).expect(200);
    expect(body.attempts).toHaveLength(1);
  });

  it('loses nothing while the process that sent it before still works on it', async () => {
    const made = await hook();
    await failRecordings(api, client.accountId, 1);
    const first = await claim(made);
    await put(made, { status: 'disabled' });
    await put(made, { status: 'active' });
    await redeliver(made, first.id).expect(202);
    const second = await claim(made);
    await deliveries.record(first, SUCCESS);
    await deliveries.release(first);
    expect(await listed(made)).toMatchObject([{ status: 'pending', attempts_count: 2, last_status: null }]);
    await deliveries.record(second, SUCCESS);
    const [{ uri }] = (await listed(made, '&status=delivered')) as [DeliveryView];
    expect((await client.get(uri)).body.attempts).toMatchObject([{ number: 2, status: 200 }]);
  });

  it('is a 409 for a disabled webhook, and a 404 for what is not there', async () => {
    const { made, id } = await ended(200);
    expectError(await redeliver(made, made.id), 'NotFoundError');
    await put(made, { status: 'disabled' });
    expectError(await redeliver(made, id), 'ConflictError');
    expectError(await redeliverMany(made), 'ConflictError');
    expectError(await redeliverMany({ ...made, id }), 'NotFoundError');
    expect(await listed(made)).toMatchObject([{ status: 'delivered' }]);
  });
});

describe('D39: redelivery of many', () => {
  /** One delivered, two failed, one pending, three missed while it was disabled. */
  async function mixed(): Promise<Hook> {
    const made = await hook();
    await failRecordings(api, client.accountId, 4);
    for (const status of [200, 500, 500])
      await deliveries.record({ ...(await claim(made)), attempt: 2 }, { ...SUCCESS, status });
    await api.database.query(`UPDATE webhooks SET status = 'disabled' WHERE id = $1`, [made.id]);
    await failRecordings(api, client.accountId, 3);
    await api.database.query(`UPDATE webhooks SET status = 'active' WHERE id = $1`, [made.id]);
    return made;
  }

  it('sends what ended as asked for, each once', () =>
    checkRows<[body: object, count: number, after: Record<string, number>]>(
      [
        [{}, 5, { pending: 6, delivered: 1, failed: 0 }],
        [{ status: 'failed' }, 2, { pending: 3, delivered: 1, failed: 0 }],
        [{ status: 'missed' }, 3, { pending: 4, delivered: 1, failed: 2 }],
        [{ status: 'delivered' }, 1, { pending: 2, delivered: 0, failed: 2 }],
        [{ date_to: '2020-01-01' }, 0, { pending: 1, delivered: 1, failed: 2 }],
        [{ date_from: '2020-01-01', date_to: '2999-01-01' }, 5, { pending: 6, delivered: 1, failed: 0 }],
      ],
      async (body, count, after) => {
        client = await api.account();
        const made = await mixed();
        expect(await countOf(redeliverMany(made, body))).toBe(count);
        for (const [status, expected] of Object.entries(after)) {
          expect([status, await total(made, `&status=${status}`)]).toEqual([status, expected]);
        }
        const left = await api.database.query('SELECT 1 FROM webhook_redeliveries WHERE webhook_id = $1', [made.id]);
        expect(left).toEqual([]);
        if (count > 0) expect(await countOf(redeliverMany(made, body))).toBe(0);
      },
    ));

  it('takes the days of the events, and no event from before the webhook or of another type', async () => {
    await failRecordings(api, client.accountId, 1);
    const made = await hook();
    await missedEvents(4);
    const events = await api.database.query<{ id: string }>(
      `SELECT id FROM events WHERE account_id = $1 AND sequence >= 1000`,
      [client.accountId],
    );
    await api.database.query(`UPDATE webhooks SET created_at = '2026-11-01' WHERE id = $1`, [made.id]);
    for (const [i, day] of ['2026-10-31T23:59:59Z', '2026-11-05T00:00:00Z', '2026-11-05T23:59:59Z'].entries()) {
      await api.database.query('UPDATE events SET created_at = $2 WHERE id = $1', [events[i]?.id, day]);
    }
    await api.database.query(`UPDATE events SET kind = 'keyword.matched' WHERE id = $1`, [events[3]?.id]);
    expect(await countOf(redeliverMany(made, { date_from: '2026-11-05', date_to: '2026-11-05' }))).toBe(2);
    const sent = (await listed(made)).map(({ event_id: id }) => id);
    expect(new Set(sent)).toEqual(new Set(events.slice(1, 3).map(({ id }) => id)));
    // The one before the webhook was created has a delivery to nobody; the first event of this test is missed now.
    expect(await countOf(redeliverMany(made))).toBe(1);
    expect(await listed(made)).toHaveLength(3);
  });

  it('refuses a second while one is in progress, which goes on batch by batch; what is new is not in it', async () => {
    const made = await hook();
    await missedEvents(2500);
    const answers = await Promise.all([redeliverMany(made), redeliverMany(made)]);
    expect(statusesOf(answers)).toEqual([202, 409]);
    expect(answers.find(({ status }) => status === 202)?.body.count).toBe(2500);
    expect(await total(made)).toBe(1000);
    await failRecordings(api, client.accountId, 2);
    await Promise.all([1, 2].map(() => api.app.get(RedeliveriesService).continueAll()));
    await api.app.get(RedeliveriesService).continueAll();
    expect(await total(made)).toBe(2502);
    expect(await countOf(redeliverMany(made))).toBe(0);
  });

  it('is 409 over what is not sent yet, and 202 once it was', async () => {
    const made = await hook();
    await failRecordings(api, client.accountId, 3);
    for (let i = 0; i < 3; i++) await deliveries.record(await claim(made), SUCCESS);
    expect(await countOf(redeliverMany(made, { status: 'delivered' }))).toBe(3);
    await deliveries.record(await claim(made), SUCCESS);
    expectError(await redeliverMany(made, { status: 'delivered' }), 'ConflictError');
    for (let i = 0; i < 2; i++) await deliveries.record(await claim(made), SUCCESS);
    expect(await countOf(redeliverMany(made, { status: 'delivered' }))).toBe(3);
  });

  it('has a rate for the account and the destination, whatever number of calls and webhooks', async () => {
    const [one, two] = [await hook(), await hook('http://127.0.0.1:9/another')];
    const elsewhere = await hook('http://127.0.0.1:10/');
    await missedEvents(150);
    const usual = await startService(api.environment, { ROLES: 'api' });
    for (const { id } of [one, two, elsewhere]) {
      const calling = request(usual.url).post(`/v1/webhooks/${id}/redeliver`).set(client.headers).send({});
      expect(await countOf(calling)).toBe(150);
    }
    await usual.close();
    const waiting = async ({ id }: Hook): Promise<[due: number, seconds: number]> => {
      const [row] = await api.database.query<{ due: number; seconds: number }>(
        `SELECT count(*) FILTER (WHERE next_attempt_at <= updated_at)::int AS due,
           extract(epoch FROM max(next_attempt_at) - max(updated_at))::float8 AS seconds
         FROM deliveries WHERE webhook_id = $1`,
        [id],
      );
      return [row?.due ?? -1, row?.seconds ?? -1];
    };
    // 20 a second, of which 5 seconds go at once: 100 of the first, and none of the second behind it.
    const [[firstDue, firstEnd], [secondDue, secondEnd]] = [await waiting(one), await waiting(two)];
    expect(firstDue).toBeGreaterThanOrEqual(100);
    expect(firstDue).toBeLessThan(115);
    expect(firstEnd).toBeGreaterThan(1.5);
    expect(firstEnd).toBeLessThan(2.6);
    expect(secondDue).toBe(0);
    expect(secondEnd - firstEnd).toBeGreaterThan(5);
    expect((await waiting(elsewhere))[0]).toBeGreaterThanOrEqual(100);
  });

  it.each(['disabled', 'deleted'])('ends when the webhook is %s', async (how) => {
    const made = await hook();
    await missedEvents(1500);
    expect(await countOf(redeliverMany(made))).toBe(1500);
    if (how === 'disabled') await put(made, { status: 'disabled' });
    else await client.delete(`/v1/webhooks/${made.id}`).expect(204);
    await api.app.get(RedeliveriesService).continueAll();
    const left = await api.database.query('SELECT status FROM deliveries WHERE webhook_id = $1', [made.id]);
    expect(left).toHaveLength(how === 'disabled' ? 1000 : 0);
    expect(await api.database.query('SELECT 1 FROM webhook_redeliveries WHERE webhook_id = $1', [made.id])).toEqual([]);
  });

  it('refuses wrong fields and names them', async () => {
    const made = await hook();
    for (const [body, field] of [
      [{ status: 'pending' }, 'status'],
      [{ status: null }, 'status'],
      [{ date_from: '2026-02-30' }, 'date_from'],
      [{ date_to: 20261101 }, 'date_to'],
      [{ date_from: '2026-11-02', date_to: '2026-11-01' }, 'date_from'],
      [{ since: '2026-11-01' }, 'since'],
    ] as const) {
      expectInvalid(await redeliverMany(made, body), field);
    }
  });
});

describe('D39: what is redelivered', () => {
  let worker: TestService;

  beforeAll(async () => {
    worker = await startService(api.environment, { ...VARIABLES, ROLES: 'deliverer' });
  });

  afterAll(async () => {
    await worker.close();
  });

  const numberOf = ({ headers }: ReceivedRequest) => headers['x-service-delivery-attempt'];
  const eventOf = ({ headers }: ReceivedRequest) => headers['x-service-event-id'];

  it('arrives with the same event id, the next number and the secrets of now, and is tried as often as before', async () => {
    const receiver = await newReceiver();
    receiver.answerAlways({ status: 500 });
    const made = await hook(receiver.url());
    await failRecordings(api, client.accountId, 1);
    const { id } = await eventually(async () => {
      const found = await listed(made, '&status=failed');
      return found[0];
    });
    await put(made, { secret: 'the secret that comes next' });
    await redeliver(made, id).expect(202);
    const requests = await receiver.waitFor(({ length }) => length === 4);
    expect(requests.map(numberOf)).toEqual(['1', '2', '3', '4']);
    expect(new Set(requests.map(eventOf)).size).toBe(1);
    expect(new Set(requests.map(({ body }) => body.toString())).size).toBe(1);
    expect(signatureProblems(requests[2]!, 'the secret that comes next')).toEqual([]);
    expect(signatureProblems(requests[2]!, made.secret)).toEqual(['X-Service-Signature does not match']);
    const { uri } = await eventually(async () => {
      const found = await listed(made, '&status=failed');
      return found[0]?.attempts_count === 4 && found[0];
    });
    expect((await client.get(uri)).body.attempts.map(({ number }: { number: number }) => number)).toEqual([1, 2, 3, 4]);
  });

  it('are all events that it missed while it was disabled, each once, also after the process that began has died', async () => {
    const [receiver, other] = [await newReceiver(), await newReceiver()];
    const made = await hook(receiver.url());
    await put({ ...made, url: receiver.url() }, { status: 'disabled' });
    await missedEvents(1050);
    await put({ ...made, url: receiver.url() }, { status: 'active' });
    const quick = await hook(other.url());
    // The API makes the first batch and nothing more, as if it had died; the reconciler of the worker makes the rest.
    expect(await countOf(redeliverMany(made))).toBe(1050);
    const [id] = await failRecordings(api, client.accountId, 1);
    const began = Date.now();
    await other.waitFor(({ length }) => length === 1);
    reportMeasurement(`an event beside 1,050 redelivered ones reaches another webhook in ${Date.now() - began} ms`);
    expect(Date.now() - began).toBeLessThan(8000);
    await receiver.waitFor(({ length }) => length === 1051);
    await eventually(async () => (await total(made, '&status=delivered')) === 1051);
    expect(receiver.requests).toHaveLength(1051);
    expect(new Set(receiver.requests.map(eventOf)).size).toBe(1051);
    expect(await total(quick)).toBe(1);
    expect(id).toBeDefined();
  });
});
