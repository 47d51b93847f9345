import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import tls from 'node:tls';
import { Module } from '@nestjs/common';
import type { Extension } from '../../../../src/extension.js';
import type {
  AttemptView,
  DeliveryView,
  SingleDeliveryView,
} from '../../../../src/modules/webhooks/deliveries/deliveries.dto.js';
import { SENDER_OPTIONS } from '../../../../src/modules/webhooks/sending/webhook-sender.service.js';
import { checkRows } from '../../../support/check-rows.js';
import type { ApiClient } from '../../../../src/testing/api-client.js';
import { eventually } from '../../../../src/testing/eventually.js';
import { useService } from '../../../../src/testing/test-service.js';
import { type Answer, signatureProblems, WebhookReceiver } from '../../../../src/testing/webhook-receiver.js';
import { expectError, expectInvalid, statusesOf } from '../../../support/http/expect-errors.js';
import { envelope, walk } from '../../../support/http/list-parameters.js';
import { ATTEMPT, DELIVERY, SINGLE_DELIVERY, TEST_CALL } from '../../../support/http/response-shapes.js';
import { FIXTURES } from '../../../support/paths.js';
import { failRecordings } from '../../../support/state/recording-events.js';

/** Instead of 15 s, so that a hanging receiver costs a test less. */
const HEADERS_MS = 800;
/** A second attempt comes only where a test asks for it, so that none of them races with it. */
const SCHEDULE = '3600,3600';
/** Names without DNS: each leads where it says. */
const ADDRESSES: Record<string, string[]> = {
  'nowhere.example.com': [],
  'private.example.com': ['10.0.0.1'],
  'local.example.com': ['127.0.0.1'],
};

@Module({
  providers: [
    {
      provide: SENDER_OPTIONS,
      useValue: { headersMs: HEADERS_MS, nameErrorMs: 50, resolve: async (name: string) => ADDRESSES[name] ?? [] },
    },
  ],
  exports: [SENDER_OPTIONS],
})
class NoDnsModule {}

const noDns: Extension = { module: { module: NoDnsModule, global: true } };
const service = useService({ WEBHOOK_RETRY_SCHEDULE: SCHEDULE, ROLES: 'api,deliverer' }, { extensions: [noDns] });

const EVENTS = ['recording.transcribed', 'recording.failed'];
const closing: { close(): unknown }[] = [];
let client: ApiClient;
let receiver: WebhookReceiver;

beforeEach(async () => {
  [client, receiver] = await Promise.all([service.account(), WebhookReceiver.listen()]);
  closing.push(receiver);
});

afterEach(async () => {
  await Promise.all(closing.splice(0).map((made) => made.close()));
});

interface Hook {
  id: string;
  secret: string;
  deliveries: string;
}

async function hook(url = receiver.url(), owner = client): Promise<Hook> {
  const { body } = await owner.post('/v1/webhooks', { url, events: EVENTS }).expect(201);
  return { ...body, deliveries: `/v1/webhooks/${body.id}/deliveries` };
}

/** The only delivery of a webhook, once it satisfies `until`. */
async function delivery({ deliveries }: Hook, until: (found: DeliveryView) => boolean): Promise<SingleDeliveryView> {
  const [listed] = await eventually(async () => {
    const { body } = await client.get(deliveries).expect(200);
    return body.total === 1 && until(body.deliveries[0]) && body.deliveries;
  });
  return (await client.get(listed.uri).expect(200)).body;
}

/** What the log says of the first attempt to deliver to a URL. */
async function attemptAt(url: string): Promise<AttemptView & { delivered: boolean }> {
  client = await service.account();
  const made = await hook(url);
  await failRecordings(service, client.accountId, 1);
  const found = await delivery(made, ({ attempts_count: count, last_duration_ms: ms }) => count === 1 && ms !== null);
  expect(found.attempts).toHaveLength(1);
  expect(found.attempts[0]).toStrictEqual({ ...ATTEMPT, number: 1 });
  expect(found).toMatchObject({ last_status: found.attempts[0]?.status, last_error: found.attempts[0]?.error });
  return { ...(found.attempts[0] as AttemptView), delivered: found.status === 'delivered' };
}

async function selfSigned(): Promise<string> {
  const pem = (name: string) => readFileSync(join(FIXTURES, 'tls', name), 'utf8');
  const server = tls.createServer({ key: pem('key.pem'), cert: pem('certificate.pem') });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push({ close: () => new Promise((resolve) => server.close(resolve)) });
  return `https://local.example.com:${(server.address() as { port: number }).port}/`;
}

/** Where nothing listens any more. */
async function closedPort(): Promise<string> {
  const made = await WebhookReceiver.listen();
  const url = made.url();
  await made.close();
  return url;
}

/** How an attempt can end without an answer, each with a receiver that makes it end so. */
const FAILURES: [error: string, reason: RegExp, url: () => string | Promise<string>][] = [
  ['dns', /^the host name has no public address$/, () => 'http://nowhere.example.com/'],
  ['dns', /^the host name has no public address$/, () => 'http://private.example.com/'],
  ['tls', /certificate is self-signed/, selfSigned],
  ['connect', /connection was refused/, closedPort],
  ['timeout', /no answer within 0.8 s/, () => (receiver.answerAlways({ hang: 'headers' }), receiver.url())],
  ['reset', /was closed before an answer/, () => (receiver.answerAlways({ drop: true }), receiver.url())],
];

const KIB = 1024;
const RESPONSES: [what: string, answer: Answer, response: string | RegExp][] = [
  ['nothing', { status: 204 }, ''],
  ['an error', { status: 500, body: '{"error":"out of memory"}' }, '{"error":"out of memory"}'],
  ['a redirect', { status: 302, headers: { Location: 'http://127.0.0.1:9/' }, body: 'moved 👍\n' }, 'moved 👍\n'],
  ['10 MB', { status: 200, bodyBytes: 10 * KIB * KIB }, 'x'.repeat(KIB)],
  ['binary data', { body: Buffer.from([0, 0x61, 0xff]) }, '\ufffda\ufffd'],
];

describe('D39: the delivery log', () => {
  it('shows why an attempt got no answer', () =>
    checkRows(FAILURES, async (error, reason, urlOf) => {
      expect(await attemptAt(await urlOf())).toMatchObject({
        status: null,
        error,
        reason: expect.stringMatching(reason),
        response: null,
        delivered: false,
      });
    }));

  it('shows the status and the first 1 KiB of an answer', () =>
    checkRows(RESPONSES, async (_, answer, response) => {
      receiver.answerAlways(answer);
      const status = answer.status ?? 200;
      expect(await attemptAt(receiver.url())).toMatchObject({
        status,
        error: null,
        reason: null,
        response,
        delivered: status < 300,
      });
    }));

  it('holds every attempt with its time, and the exact body', async () => {
    receiver.answerNext({ status: 503, body: 'not yet' });
    const made = await hook();
    const before = Date.now();
    await failRecordings(service, client.accountId, 1);
    const { id } = await delivery(made, ({ last_status: last }) => last === 503);
    const between = Date.now();
    await service.database.query('UPDATE deliveries SET next_attempt_at = now() WHERE id = $1', [id]);
    const found = await delivery(made, ({ status }) => status === 'delivered');
    expect(found).toStrictEqual({ ...SINGLE_DELIVERY, event: 'recording.failed', attempts_count: 2, reason: null });
    expect(found.attempts).toMatchObject([
      { number: 1, status: 503, response: 'not yet' },
      { number: 2, status: 200, response: '' },
    ]);
    const [first, ...others] = receiver.requests;
    expect(others).toHaveLength(1);
    expect(found.body).toBe(first?.body.toString());
    expect(found.event_id).toBe(first?.headers['x-service-event-id']);
    expect(found.recording_id).toBe(JSON.parse(found.body).recording.id);
    const times = found.attempts.map(({ started_at: at }) => Date.parse(`${at}Z`));
    for (const [i, [from, to]] of [
      [before, between],
      [between, Date.now()],
    ].entries()) {
      // Whole seconds are shown.
      expect(times[i]).toBeGreaterThan((from as number) - 1000);
      expect(times[i]).toBeLessThanOrEqual(to as number);
    }
  });

  it('says why nothing was sent: the secret cannot be read, the webhook was disabled', async () => {
    const made = await hook();
    await service.database.query(`UPDATE webhooks SET encrypted_secret = 'lost' WHERE id = $1`, [made.id]);
    await failRecordings(service, client.accountId, 1);
    const unread = await delivery(made, ({ last_error: error }) => error !== null);
    expect(unread.attempts).toMatchObject([
      { status: null, error: 'secret', reason: expect.stringMatching(/set a new one/) },
    ]);
    await client
      .put(`/v1/webhooks/${made.id}`, { url: receiver.url(), events: EVENTS, status: 'disabled' })
      .expect(200);
    const failed = await delivery(made, ({ status }) => status === 'failed');
    expect(failed).toMatchObject({ last_error: null, reason: 'webhook disabled', next_attempt_at: null });
    expect(receiver.requests).toEqual([]);
  });

  it('keeps the last 30 attempts', async () => {
    receiver.answerAlways({ status: 500 });
    const made = await hook();
    await failRecordings(service, client.accountId, 1);
    const { id } = await delivery(made, ({ attempts_count: count, last_status: last }) => count === 1 && last === 500);
    await service.database.query(
      `INSERT INTO delivery_attempts (delivery_id, number, started_at, duration_ms)
       SELECT $1, number, now(), 1 FROM generate_series(2, 40) number`,
      [id],
    );
    await service.database.query(
      `UPDATE deliveries SET attempts = 40, attempts_before = 39, next_attempt_at = now() WHERE id = $1`,
      [id],
    );
    const found = await delivery(made, ({ attempts_count: count, last_attempt_at: at }) => count === 41 && at !== null);
    const numbers = await eventually(async () => {
      const { body } = await client.get(found.uri).expect(200);
      const kept = body.attempts.map(({ number }: { number: number }) => number);
      return kept.at(-1) === 41 && kept;
    });
    expect(numbers).toEqual(Array.from({ length: 30 }, (_, i) => i + 12));
  });

  it('goes with the events past their retention, and with the webhook', async () => {
    receiver.answerAlways({ status: 500 });
    const [old, gone] = [await hook(), await hook()];
    await failRecordings(service, client.accountId, 1);
    const failed = (made: Hook) => delivery(made, ({ last_status: last }) => last === 500);
    const [{ id, event_id: eventId }, { id: other }] = await Promise.all([failed(old), failed(gone)]);
    const left = async () =>
      (await service.database.query('SELECT 1 FROM delivery_attempts WHERE delivery_id = ANY ($1)', [[id, other]]))
        .length;
    expect(await left()).toBe(2);
    await client.delete(`/v1/webhooks/${gone.id}`).expect(204);
    expect(await left()).toBe(1);
    await client.get(gone.deliveries).expect(404);
    await service.database.query(`UPDATE deliveries SET status = 'failed', next_attempt_at = NULL WHERE id = $1`, [id]);
    await service.database.query(`UPDATE events SET created_at = now() - interval '31 days' WHERE id = $1`, [eventId]);
    await eventually(async () => (await left()) === 0);
    expect((await client.get(old.deliveries).expect(200)).body.total).toBe(0);
  });

  it('refuses that a delivery which has ended changes otherwise than by a redelivery', async () => {
    const made = await hook();
    await failRecordings(service, client.accountId, 1);
    const { id } = await delivery(made, ({ status }) => status === 'delivered');
    const change = (set: string) => service.database.query(`UPDATE deliveries SET ${set} WHERE id = $1`, [id]);
    await expect(change(`status = 'failed'`)).rejects.toThrow('status cannot become failed');
    await expect(change(`status = 'pending', next_attempt_at = now()`)).rejects.toThrow('cannot become pending');
  });
});

describe('D39: pages and filters of the log', () => {
  /** `count` deliveries of the day, every third of them failed, every third pending in an hour. */
  async function fill({ id }: Hook, day: string, count: number): Promise<void> {
    await service.database.query(
      `WITH added AS (
         INSERT INTO events (id, account_id, sequence, kind, recording_id, run, body, created_at)
         SELECT gen_random_uuid(), $1, 1000 + i + extract(day FROM $3::date)::int * 1000, 'recording.failed',
           gen_random_uuid(), 1, '{}', $3::date::timestamp AT TIME ZONE 'UTC' + make_interval(secs => i * 86399 / $4::int)
         FROM generate_series(1, $4::int) i RETURNING id, created_at, sequence)
       INSERT INTO deliveries (id, account_id, event_id, webhook_id, status, next_attempt_at, created_at, updated_at)
       SELECT gen_random_uuid(), $1, id, $2, (ARRAY['delivered', 'failed', 'pending'])[sequence % 3 + 1],
         CASE WHEN sequence % 3 = 2 THEN now() + interval '1 hour' END, created_at, now() FROM added`,
      [client.accountId, id, day, count],
    );
  }

  it('are exact: every delivery once, newest first, each filter and both together', async () => {
    const made = await hook();
    await fill(made, '2026-11-10', 30);
    await fill(made, '2026-11-11', 15);
    const rows = await service.database.query<{ id: string; status: string; day: string }>(
      `SELECT id, status, (created_at AT TIME ZONE 'UTC')::date::text AS day FROM deliveries
       WHERE webhook_id = $1 ORDER BY created_at DESC, id DESC`,
      [made.id],
    );
    expect(await walk(client, made.deliveries, 'deliveries', { limit: 7, total: 45 })).toEqual(
      rows.map(({ id }) => id),
    );
    for (const [query, matches] of [
      ['status=failed', ({ status }) => status === 'failed'],
      ['status=delivered', ({ status }) => status === 'delivered'],
      ['status=pending', ({ status }) => status === 'pending'],
      ['date_from=2026-11-11', ({ day }) => day === '2026-11-11'],
      ['date_to=2026-11-10', ({ day }) => day === '2026-11-10'],
      [
        'status=failed&date_from=2026-11-10&date_to=2026-11-10',
        ({ status, day }) => status === 'failed' && day.endsWith('10'),
      ],
      ['date_from=2026-11-12', () => false],
    ] as [string, (row: (typeof rows)[number]) => boolean][]) {
      const expected = rows.filter(matches).map(({ id }) => id);
      const { body } = await client.get(`${made.deliveries}?limit=100&${query}`).expect(200);
      const { deliveries, ...page } = body;
      expect(deliveries.map(({ id }: { id: string }) => id)).toEqual(expected);
      const total = expected.length;
      expect(page).toEqual(envelope(made.deliveries, { limit: 100, size: total, total, filters: `&${query}` }));
    }
    const { body: beyond } = await client.get(`${made.deliveries}?page=1000000000&limit=100`).expect(200);
    expect(beyond).toMatchObject({ deliveries: [], total: 45, page_size: 0, next_page_uri: null });
    expect((await client.get(`${made.deliveries}?limit=1`)).body.deliveries).toStrictEqual([DELIVERY_OF(made)]);
  });

  const DELIVERY_OF = ({ deliveries }: Hook) => ({
    ...DELIVERY,
    id: expect.any(String),
    event_id: expect.any(String),
    recording_id: expect.any(String),
    uri: expect.stringContaining(`${deliveries}/`),
  });

  it('refuse a status that only a redelivery knows', async () => {
    const { deliveries } = await hook();
    expectInvalid(await client.get(`${deliveries}?status=missed`), 'status');
  });

  it('show nothing to other accounts, and no delivery under another webhook', async () => {
    const [made, other] = [await hook(), await hook()];
    await failRecordings(service, client.accountId, 1);
    const { id } = await delivery(made, ({ status }) => status === 'delivered');
    const stranger = await service.account();
    expectError(await stranger.get(made.deliveries), 'NotFoundError');
    expectError(await stranger.get(`${made.deliveries}/${id}`), 'NotFoundError');
    expectError(await client.get(`${other.deliveries}/${id}`), 'NotFoundError');
    expectError(await client.post(`${other.deliveries}/${id}/redeliver`), 'NotFoundError');
  });
});

describe('D39: a test call', () => {
  const test = (id: string, by = client) => by.post(`/v1/webhooks/${id}/test`);

  it('sends a signed webhook.test event to that webhook alone, and answers with the outcome', async () => {
    receiver.answerAlways({ status: 202, body: 'hello' });
    const [made] = [await hook(receiver.url('/tested')), await hook(receiver.url('/other'))];
    const before = Date.now();
    const { body } = await test(made.id).expect(200);
    const attempt = { ...ATTEMPT, number: 1, status: 202, error: null, reason: null, response: 'hello' };
    expect(body).toStrictEqual({ ...TEST_CALL, attempt, uri: `/v1/webhooks/${made.id}` });
    const [request, ...others] = receiver.requests;
    expect(others).toEqual([]);
    expect(request?.path).toBe('/tested');
    expect(signatureProblems(request!, made.secret)).toEqual([]);
    expect(request?.headers).toMatchObject({ 'x-service-event-id': body.event_id, 'x-service-delivery-attempt': '1' });
    const event = JSON.parse(request!.body.toString());
    expect(event).toEqual({
      event: 'webhook.test',
      timestamp: `${body.attempt.started_at}Z`,
      webhook: { id: made.id },
    });
    expect(Date.parse(event.timestamp)).toBeGreaterThan(before - 1001);
    const [row] = await service.database.query('SELECT 1 FROM events WHERE account_id = $1', [client.accountId]);
    expect(row).toBeUndefined();
    expect((await client.get(made.deliveries)).body.total).toBe(0);
  });

  it('is signed with the previous secret, too, while it is valid (D37)', async () => {
    const made = await hook();
    const secret = 'the secret that comes next';
    await client.put(`/v1/webhooks/${made.id}`, { url: receiver.url(), events: EVENTS, secret }).expect(200);
    await test(made.id).expect(200);
    const [request] = receiver.requests;
    expect(signatureProblems(request!, secret)).toEqual([]);
    expect(signatureProblems(request!, made.secret)).toEqual(['X-Service-Signature does not match']);
    await service.database.query(
      `UPDATE webhooks SET previous_secret_until = now() - interval '1 second' WHERE id = $1`,
      [made.id],
    );
    await test(made.id).expect(200);
    const [, later] = receiver.requests;
    expect(signatureProblems(later!, secret)).toEqual([]);
    expect(signatureProblems(later!, made.secret)).toHaveLength(2);
  });

  it('answers 200 with the error when there was no answer', async () => {
    const { id } = await hook(await closedPort());
    const { attempt } = (await test(id).expect(200)).body;
    const reason = expect.stringMatching(/connection was refused/);
    expect(attempt).toMatchObject({ status: null, error: 'connect', reason, response: null });
  });

  it('works for a disabled webhook, and a 410 or a success changes nothing of it', async () => {
    const { id } = await hook();
    const get = async () => (await client.get(`/v1/webhooks/${id}`)).body;
    await client.put(`/v1/webhooks/${id}`, { url: receiver.url(), events: EVENTS, status: 'disabled' }).expect(200);
    const before = await get();
    for (const status of [200, 410]) {
      receiver.answerAlways({ status });
      expect((await test(id).expect(200)).body.attempt.status).toBe(status);
    }
    expect(await get()).toEqual(before);
  });

  it('is one at a time for an account, and holds up no other account', async () => {
    receiver.answerAlways({ hang: 'headers' });
    const stranger = await service.account();
    const [mine, theirs] = [await hook(), await hook(receiver.url(), stranger)];
    const racing = [test(mine.id), test(mine.id), test(theirs.id, stranger)].map((one) => one.then((answer) => answer));
    const answers = await Promise.all(racing);
    expect(statusesOf(answers)).toEqual([200, 200, 429]);
    const refused = answers.find(({ status }) => status === 429)!;
    expectError(refused, 'RateLimitError', { retry_after: 1 });
    expect(refused.headers['retry-after']).toBe('1');
    receiver.answerAlways({ status: 200 });
    expect((await test(mine.id).expect(200)).body.attempt.status).toBe(200);
  });

  it('frees its place also when the client hangs up', async () => {
    receiver.answerAlways({ hang: 'headers' });
    const { id } = await hook();
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    const headers = Object.entries(client.headers).map(([name, value]) => `${name}: ${value}`);
    socket.write(
      [`POST /v1/webhooks/${id}/test HTTP/1.1`, 'Host: x', 'Content-Length: 0', ...headers, '', ''].join('\r\n'),
    );
    await receiver.waitFor(({ length }) => length === 1);
    socket.destroy();
    receiver.answerAlways({ status: 200 });
    await eventually(async () => (await test(id)).status === 200);
  });
});
