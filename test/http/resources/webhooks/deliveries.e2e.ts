import { Module } from '@nestjs/common';
import type { Extension } from '../../../../src/extension.js';
import { RecordingFailed } from '../../../../src/modules/recordings/recordings.events.js';
import type { Delivery } from '../../../../src/modules/webhooks/deliveries/delivery.entity.js';
import { SENDER_OPTIONS } from '../../../../src/modules/webhooks/sending/webhook-sender.service.js';
import { EventBus } from '../../../../src/platform/database/event-bus.js';
import { garbage, silenceWav } from '../../../support/audio/audio-bytes.js';
import type { ApiClient } from '../../../../src/testing/api-client.js';
import { eventually } from '../../../../src/testing/eventually.js';
import { failRecordings, snapshotOf } from '../../../support/state/recording-events.js';
import { reportMeasurement } from '../../../support/service/measurements.js';
import { timedEngine } from '../../../support/service/test-engines.js';
import { startStopwatch, workClock } from '../../../support/cpu-wait.js';
import { HostileReceiver } from '../../../support/servers/hostile-receiver.js';
import { useService } from '../../../../src/testing/test-service.js';
import {
  type Answer,
  type ReceivedRequest,
  signatureProblems,
  WebhookReceiver,
} from '../../../../src/testing/webhook-receiver.js';

/** Seconds between attempts; three attempts in all. */
const SCHEDULE = [1, 1];
const ATTEMPTS = SCHEDULE.length + 1;
const JITTER = 0.2;
/** Instead of 15 s, so that a hanging receiver costs a test less. */
const HEADERS_MS = 1500;

@Module({
  providers: [{ provide: SENDER_OPTIONS, useValue: { headersMs: HEADERS_MS } }],
  exports: [SENDER_OPTIONS],
})
class ShortTimeoutSenderModule {}

const shortTimeouts: Extension = { module: { module: ShortTimeoutSenderModule, global: true } };

const receivers: { close(): Promise<void> }[] = [];

/** What is transcribed here is silence. */
const engine = timedEngine({ msPerSecond: 0, concurrency: 4 });

const service = useService(
  { WEBHOOK_RETRY_SCHEDULE: SCHEDULE.join(','), TRANSCRIPTION_ENGINE: 'timed' },
  { extensions: [shortTimeouts, engine.extension] },
);

afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
});

async function newReceiver(): Promise<WebhookReceiver> {
  const receiver = await WebhookReceiver.listen();
  receivers.push(receiver);
  return receiver;
}

const ALL = ['recording.transcribed', 'recording.failed'];

async function hook(client: ApiClient, url: string, fields: object = {}): Promise<{ id: string; secret: string }> {
  const { body } = await client.post('/v1/webhooks', { url, events: ALL, ...fields }).expect(201);
  return body;
}

type Row = Pick<Delivery, 'status' | 'attempts' | 'lastStatus' | 'lastError' | 'nextAttemptAt' | 'eventId'>;

const rowsOf = (webhookId: string): Promise<Row[]> =>
  service.database.query<Row>(
    `SELECT status, attempts, last_status AS "lastStatus", last_error AS "lastError", next_attempt_at AS "nextAttemptAt",
       event_id AS "eventId" FROM deliveries WHERE webhook_id = $1 ORDER BY created_at, id`,
    [webhookId],
  );

/** The webhook's deliveries once none of them is pending any more. */
const settledRows = (webhookId: string): Promise<Row[]> =>
  eventually(async () => {
    const rows = await rowsOf(webhookId);
    return rows.length > 0 && rows.every(({ status }) => status !== 'pending') && rows;
  });

/** What `read` gives while the second attempt waits for its answer: what the first one has left in the row. */
function readAtSecondAttempt<T>(receiver: WebhookReceiver, read: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    receiver.answerAlways(() => {
      const reading = read();
      reading.then(resolve, reject);
      return { after: reading };
    });
  });
}

async function statusOf(client: ApiClient, id: string): Promise<string> {
  const { body } = await client.get(`/v1/webhooks/${id}`).expect(200);
  return body.status;
}

interface EventRow {
  id: string;
  kind: string;
  sequence: string;
  run: number;
  body: string;
}

/** Those that webhooks can get. */
async function eventsOf(client: ApiClient): Promise<EventRow[]> {
  await service.database.query('SELECT number_events(ARRAY[$1::uuid], 1000)', [client.accountId]);
  return await service.database.query<EventRow>(
    `SELECT id, kind, sequence, run, body FROM events
     WHERE account_id = $1 AND kind NOT IN ('recording.accepted', 'recording.deleted') ORDER BY sequence`,
    [client.accountId],
  );
}

const attemptOf = ({ headers }: ReceivedRequest): string => String(headers['x-service-delivery-attempt']);
const eventIdOf = ({ headers }: ReceivedRequest): string => String(headers['x-service-event-id']);
const bodyOf = ({ body }: ReceivedRequest) => JSON.parse(body.toString());

async function deadlocks(): Promise<number> {
  await service.database.query('SELECT pg_stat_clear_snapshot()');
  const [row] = await service.database.query<{ deadlocks: string }>(
    'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
  );
  return Number(row?.deadlocks);
}

describe('D37: a new secret', () => {
  const OLD = 'the secret that the receiver knows';
  const NEW = 'the secret that it gets to know';
  const X_MISMATCH = 'X-Service-Signature does not match';
  const STANDARD_MISMATCH = 'webhook-signature does not match';

  /** What the receiver finds wrong in the next delivery with either secret. */
  async function problems(client: ApiClient, receiver: WebhookReceiver): Promise<{ old: string[]; new: string[] }> {
    const before = receiver.requests.length;
    await failRecordings(service, client.accountId, 1);
    await receiver.waitFor(({ length }) => length > before);
    const request = receiver.requests.at(-1) as ReceivedRequest;
    return { old: signatureProblems(request, OLD), new: signatureProblems(request, NEW) };
  }

  async function hooked() {
    const [client, receiver] = [await service.account(), await newReceiver()];
    const { id } = await hook(client, receiver.url(), { secret: OLD });
    const put = (fields: object) =>
      client.put(`/v1/webhooks/${id}`, { url: receiver.url(), events: ALL, ...fields }).expect(200);
    return { client, receiver, id, put };
  }

  it('signs beside the previous one for a day, which later updates without another secret leave as it is', async () => {
    const { client, receiver, id, put } = await hooked();
    const { body } = await put({ secret: NEW });
    expect(Object.keys(body)).not.toContain('previous_secret_valid_hours');
    expect(await problems(client, receiver)).toEqual({ old: [X_MISMATCH], new: [] });
    await put({});
    await put({ secret: NEW, previous_secret_valid_hours: 0 });
    await put({ previous_secret_valid_hours: 0 });
    expect(await problems(client, receiver)).toEqual({ old: [X_MISMATCH], new: [] });
    const [row] = await service.database.query<{ hours: number }>(
      `SELECT extract(epoch FROM previous_secret_until - now())::float / 3600 AS hours FROM webhooks WHERE id = $1`,
      [id],
    );
    expect(row?.hours).toBeCloseTo(24, 0);
  });

  it('signs alone once the hours are over, and at once with 0 of them', async () => {
    const { client, receiver, id, put } = await hooked();
    await put({ secret: NEW, previous_secret_valid_hours: 3 });
    await service.database.query(
      `UPDATE webhooks SET previous_secret_until = previous_secret_until - interval '3 hours' WHERE id = $1`,
      [id],
    );
    expect(await problems(client, receiver)).toEqual({ old: [X_MISMATCH, STANDARD_MISMATCH], new: [] });
    await put({ secret: OLD, previous_secret_valid_hours: 0 });
    expect(await problems(client, receiver)).toEqual({ old: [], new: [X_MISMATCH, STANDARD_MISMATCH] });
  });
});

describe('D29: what is sent', () => {
  it('recording.transcribed: POST with exactly the documented headers and body, custom_tags last and in order', async () => {
    const [client, receiver] = [await service.account(), await newReceiver()];
    const { secret } = await hook(client, receiver.url('/path?query=1'));
    const tags = '{"b":"1","a":"2","10":"x","1":"y"}';
    const { body: token } = await client.post('/v1/account/access-tokens', { identity: 'user-42' }).expect(201);
    const upload = client.upload(silenceWav(0.25), { custom_tags: tags }).set('Authorization', `Bearer ${token.token}`);
    const { body: recording } = await upload.expect(201);
    const [request] = (await receiver.waitFor(({ length }) => length === 1)) as [ReceivedRequest];
    const [event] = await eventsOf(client);

    expect(request.method).toBe('POST');
    expect(request.path).toBe('/path?query=1');
    expect(request.headers).toEqual({
      host: `127.0.0.1:${receiver.port}`,
      connection: expect.any(String),
      'content-type': 'application/json',
      'content-length': String(request.body.length),
      'user-agent': 'VoiceNoteTranscription-Webhooks/1',
      'x-service-event-id': event?.id,
      'x-service-delivery-attempt': '1',
      'x-service-signature': expect.stringMatching(/^sha256=[0-9a-f]{64}$/),
      'webhook-id': event?.id,
      'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
      'webhook-signature': expect.stringMatching(/^v1,[\w+/]{43}=$/),
    });
    expect(signatureProblems(request, secret)).toEqual([]);

    const time = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/);
    const completed = await client.finished(recording.id);
    expect(bodyOf(request)).toEqual({
      event: 'recording.transcribed',
      timestamp: time,
      recording: {
        id: recording.id,
        status: 'transcribed',
        duration: 0.25,
        format: 'wav',
        identity: 'user-42',
        created_at: `${recording.created_at}Z`,
        completed_at: `${String(completed.processed_at)}Z`,
        custom_tags: JSON.parse(tags),
      },
    });
    const keys =
      /"recording":\{"id":"[^"]+","status":"[^"]+","duration":0.25,"format":"wav","identity":"user-42","created_at":"[^"]+","completed_at":"[^"]+","custom_tags":\{"b":"1","a":"2","10":"x","1":"y"\}\}\}$/;
    expect(request.body.toString()).toMatch(/^\{"event":"recording.transcribed","timestamp":"[^"]+","recording":/);
    expect(request.body.toString()).toMatch(keys);
    expect(request.body.toString()).toBe(event?.body);
  });

  it('recording.failed: its body, with the reason that the recording’s transcription gives', async () => {
    const [client, receiver] = [await service.account(), await newReceiver()];
    await hook(client, receiver.url());
    const { body: recording } = await client.upload(garbage('wav', 1)).expect(201);
    const [request] = (await receiver.waitFor(({ length }) => length === 1)) as [ReceivedRequest];
    const { body: refusal } = await client.get(`/v1/recordings/${recording.id}/transcription`).expect(404);
    const time = '"\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z"';
    expect(request.body.toString()).toMatch(
      new RegExp(
        `^\\{"event":"recording.failed","timestamp":${time},"recording":\\{"id":"${recording.id}",` +
          `"status":"failed","identity":null,"created_at":${time}\\},` +
          `"error":\\{"code":"TRANSCRIPTION_FAILED","message":"[^"]+"\\}\\}$`,
      ),
    );
    expect(bodyOf(request).error.message).toBe(refusal.error.details.reason);
  });

  it('the same bytes and the same event id at every webhook and on every attempt; attempts are numbered from 1', async () => {
    const client = await service.account();
    const [steady, failing] = [await newReceiver(), await newReceiver()];
    failing.answerNext({ status: 500 }, { status: 404 });
    await hook(client, steady.url());
    const { secret, id } = await hook(client, failing.url());
    await failRecordings(service, client.accountId, 1);

    const attempts = await failing.waitFor(({ length }) => length === ATTEMPTS);
    const [once] = (await steady.waitFor(({ length }) => length === 1)) as [ReceivedRequest];
    expect(attempts.map(attemptOf)).toEqual(['1', '2', '3']);
    expect(new Set([once, ...attempts].map(eventIdOf)).size).toBe(1);
    expect(new Set([once, ...attempts].map(({ body }) => body.toString())).size).toBe(1);
    for (const attempt of attempts) expect(signatureProblems(attempt, secret)).toEqual([]);
    expect(await settledRows(id)).toMatchObject([
      { status: 'delivered', attempts: 3, lastStatus: 200, lastError: null, nextAttemptAt: null },
    ]);
  });
});

describe('D29: when it is tried again', () => {
  it('at the schedule’s times, ±20 %, and no more once they are used up: failed', async () => {
    const [client, receiver] = [await service.account(), await newReceiver()];
    receiver.answerAlways({ status: 500 });
    const { id } = await hook(client, receiver.url());
    await failRecordings(service, client.accountId, 1);
    const rows = await settledRows(id);
    expect(rows).toMatchObject([{ status: 'failed', attempts: ATTEMPTS, lastStatus: 500, nextAttemptAt: null }]);
    expect(receiver.requests).toHaveLength(ATTEMPTS);
    const times = receiver.requests.map(({ at }) => at.getTime());
    for (const [i, gap] of SCHEDULE.entries()) {
      expect((times[i + 1] as number) - (times[i] as number)).toBeGreaterThanOrEqual(gap * 1000 * (1 - JITTER));
    }
    expect(await statusOf(client, id)).toBe('active');
  });

  it('after no answer in time, a dropped connection, a redirect, which is not followed, a 304 or a 400', async () => {
    const elsewhere = await newReceiver();
    const answers: [Answer, string | null][] = [
      [{ hang: 'headers' }, `no answer within ${HEADERS_MS / 1000} s`],
      [{ drop: true }, 'the connection was closed before an answer'],
      [{ status: 307, headers: { Location: elsewhere.url() } }, null],
      [{ status: 304 }, null],
      [{ status: 400 }, null],
    ];
    const rows = await Promise.all(
      answers.map(async ([answer]) => {
        const [client, receiver] = [await service.account(), await newReceiver()];
        receiver.answerNext(answer);
        const { id } = await hook(client, receiver.url());
        const reading = readAtSecondAttempt(receiver, () => rowsOf(id));
        await failRecordings(service, client.accountId, 1);
        return [...(await reading), ...(await settledRows(id))];
      }),
    );
    expect(rows).toMatchObject(
      answers.map(([{ status = null }, lastError]) => [
        { status: 'pending', attempts: 2, lastStatus: status, lastError },
        { status: 'delivered', attempts: 2 },
      ]),
    );
    expect(elsewhere.requests).toEqual([]);
  });

  it('after Retry-After on a 429 or 503, of at most an hour', async () => {
    const inFiveMinutes = new Date(Date.now() + 300_000).toUTCString();
    const cases: [status: number, retryAfter: string, heeded: number | null][] = [
      [503, '120', 120],
      [429, '86400', 3600],
      [503, inFiveMinutes, null],
      [500, '120', 0],
      [503, 'soon', 0],
    ];
    await Promise.all(
      cases.map(async ([status, retryAfter, heeded]) => {
        const [client, receiver] = [await service.account(), await newReceiver()];
        receiver.answerNext({ status, headers: { 'Retry-After': retryAfter } });
        const { id } = await hook(client, receiver.url());
        const gaps = async (): Promise<number | undefined> => {
          const [row] = await service.database.query<{ gap: number }>(
            `SELECT extract(epoch FROM next_attempt_at - updated_at)::float8 AS gap FROM deliveries
             WHERE webhook_id = $1 AND last_status = $2`,
            [id, status],
          );
          return row?.gap;
        };
        const atSecond = readAtSecondAttempt(receiver, gaps);
        await failRecordings(service, client.accountId, 1);
        const gap = await (heeded === 0 ? atSecond : eventually(gaps));
        const expected = heeded ?? (Date.parse(retryAfter) - Date.now()) / 1000;
        expect(gap).toBeGreaterThanOrEqual(Math.max(expected - 5, SCHEDULE[0] as number) * (1 - JITTER));
        expect(gap).toBeLessThan(Math.max(expected + 1, SCHEDULE[0] as number) * (1 + JITTER));
      }),
    );
  });

  it('with the secret and the URL that the webhook has by then', async () => {
    const client = await service.account();
    const [before, after] = [await newReceiver(), await newReceiver()];
    before.answerAlways({ status: 500 });
    const { id, secret } = await hook(client, before.url());
    await failRecordings(service, client.accountId, 1);
    const [first] = (await before.waitFor(({ length }) => length === 1)) as [ReceivedRequest];
    const changed = { url: after.url(), events: ALL, secret: 'another secret, just as long' };
    await client.put(`/v1/webhooks/${id}`, changed).expect(200);
    const [second] = (await after.waitFor(({ length }) => length === 1)) as [ReceivedRequest];
    expect(signatureProblems(first, secret)).toEqual([]);
    expect(signatureProblems(second, changed.secret)).toEqual([]);
    expect(signatureProblems(second, secret)).not.toEqual([]);
    expect(attemptOf(second)).toBe('2');
  });

  it('by another worker, once the lease of the one that died is over: rather twice than never', async () => {
    const [client, receiver] = [await service.account(), await newReceiver()];
    const { id } = await hook(client, receiver.url());
    receiver.answerNext({ hang: 'headers' });
    await failRecordings(service, client.accountId, 1);
    await receiver.waitFor(({ length }) => length === 1);
    // As if the process that holds it had died a while ago: what it comes to is of no consequence any more.
    await service.database.query(
      `UPDATE deliveries SET lease_token = gen_random_uuid(), lease_until = now() - interval '1 second' WHERE webhook_id = $1`,
      [id],
    );
    const [first, second] = (await receiver.waitFor(({ length }) => length === 2)) as [
      ReceivedRequest,
      ReceivedRequest,
    ];
    expect(eventIdOf(second)).toBe(eventIdOf(first));
    expect(attemptOf(second)).toBe('2');
    expect(await settledRows(id)).toMatchObject([{ status: 'delivered', attempts: 2 }]);
  });
});

describe('D29: which webhooks get an event', () => {
  it('those that are subscribed to its kind', async () => {
    const client = await service.account();
    const [onFailure, onSuccess, onBoth] = [await newReceiver(), await newReceiver(), await newReceiver()];
    await hook(client, onFailure.url(), { events: ['recording.failed'] });
    await hook(client, onSuccess.url(), { events: ['recording.transcribed'] });
    await hook(client, onBoth.url());
    const { body: good } = await client.upload(silenceWav(0.1)).expect(201);
    const { body: bad } = await client.upload(garbage('ogg', 2)).expect(201);
    await onBoth.waitFor(({ length }) => length === 2);
    await onFailure.waitFor(({ length }) => length === 1);
    await onSuccess.waitFor(({ length }) => length === 1);
    expect(onFailure.requests.map(bodyOf)).toMatchObject([{ event: 'recording.failed', recording: { id: bad.id } }]);
    expect(onSuccess.requests.map(bodyOf)).toMatchObject([{ recording: { id: good.id } }]);
  });

  it('not those of other accounts', async () => {
    const [client, other, receiver] = [await service.account(), await service.account(), await newReceiver()];
    await hook(other, receiver.url());
    const { id } = await hook(client, receiver.url());
    const [recordingId] = await failRecordings(service, client.accountId, 1);
    await settledRows(id);
    expect(receiver.requests.map(bodyOf)).toMatchObject([{ recording: { id: recordingId } }]);
    const [row] = await service.database.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM deliveries WHERE account_id = $1',
      [other.accountId],
    );
    expect(row?.count).toBe(0);
  });

  it('not those that are created later, nor those that were disabled at the moment', async () => {
    const [client, receiver] = [await service.account(), await newReceiver()];
    const { id } = await hook(client, receiver.url('/disabled'));
    await client
      .put(`/v1/webhooks/${id}`, { url: receiver.url('/disabled'), events: ALL, status: 'disabled' })
      .expect(200);
    await failRecordings(service, client.accountId, 1);
    await hook(client, receiver.url('/later'));
    await client
      .put(`/v1/webhooks/${id}`, { url: receiver.url('/enabled'), events: ALL, status: 'active' })
      .expect(200);
    await failRecordings(service, client.accountId, 1);
    await receiver.waitFor(({ length }) => length === 2);
    const [first, second] = await eventsOf(client);
    expect(receiver.requests.map(eventIdOf)).toEqual([second?.id, second?.id]);
    expect(receiver.requests.map(({ path }) => path).toSorted()).toEqual(['/enabled', '/later']);
    expect(first).toBeDefined();
  });

  it('deliveries of an event that has happened go on when the recording is deleted (D24)', async () => {
    const [client, receiver] = [await service.account(), await newReceiver()];
    receiver.answerNext({ status: 500 });
    const { id } = await hook(client, receiver.url());
    const { body } = await client.upload(silenceWav(0.1)).expect(201);
    await receiver.waitFor(({ length }) => length === 1);
    await client.delete(`/v1/recordings/${body.id}`).expect(204);
    expect(await settledRows(id)).toMatchObject([{ status: 'delivered', attempts: 2 }]);
  });
});

describe('D29: one event for each run, in a sequence without gaps', () => {
  it('a retry’s outcome is a new event (D23), and a second one of the same run cannot be', async () => {
    const client = await service.account();
    const { body } = await client.upload(garbage('wav', 5)).expect(201);
    await client.finished(body.id);
    await client.post(`/v1/recordings/${body.id}/retry`).expect(202);
    await client.finished(body.id);
    const events = await eventsOf(client);
    expect(events.map(({ sequence, run }) => [sequence, run])).toEqual([
      ['2', 1],
      ['4', 2],
    ]);
    expect(events[0]?.id).not.toBe(events[1]?.id);
    const again = { ...snapshotOf(client.accountId, body.id), run: 2 };
    const bus = service.app.get(EventBus);
    const emitted = service.database.transact((tx) => bus.emit(new RecordingFailed(again, 'again'), tx));
    await expect(emitted).rejects.toThrow('events_recording_terminal_key');
    expect(await eventsOf(client)).toHaveLength(2);
  });
});

describe('D29: disabled and deleted webhooks', () => {
  /** A webhook with deliveries that wait for their second attempt. */
  async function waiting(client: ApiClient, receiver: WebhookReceiver, events: number): Promise<string> {
    receiver.answerAlways({ status: 503, headers: { 'Retry-After': '600' } });
    const { id } = await hook(client, receiver.url());
    await failRecordings(service, client.accountId, events);
    await eventually(async () => (await rowsOf(id)).every((row) => row.attempts === 1 && row.lastStatus === 503));
    return id;
  }

  it('PUT status disabled: its pending deliveries end failed with "webhook disabled", new events pass it by', async () => {
    const [client, receiver] = [await service.account(), await newReceiver()];
    const id = await waiting(client, receiver, 3);
    await client.put(`/v1/webhooks/${id}`, { url: receiver.url(), events: ALL, status: 'disabled' }).expect(200);
    const failed = { status: 'failed', attempts: 1, lastError: 'webhook disabled', nextAttemptAt: null };
    expect(await rowsOf(id)).toMatchObject([failed, failed, failed]);
    await failRecordings(service, client.accountId, 1);
    expect(await rowsOf(id)).toHaveLength(3);
    expect(receiver.requests).toHaveLength(3);
  });

  it('410 Gone disables it at once and fails what is pending, also with other deliveries under way', async () => {
    const [client, receiver] = [await service.account(), await newReceiver()];
    const id = await waiting(client, receiver, 30);
    const before = await deadlocks();
    receiver.answerAlways({ status: 410, delayMs: 50 });
    await service.database.query('UPDATE deliveries SET next_attempt_at = now() WHERE webhook_id = $1', [id]);
    const rows = await settledRows(id);
    expect(await statusOf(client, id)).toBe('disabled');
    expect(rows.every(({ status }) => status === 'failed')).toBe(true);
    expect(rows.filter(({ attempts }) => attempts === 1).length).toBeGreaterThan(20);
    expect(rows.filter(({ lastError }) => lastError === 'webhook disabled').length).toBeGreaterThan(20);
    expect(await deadlocks()).toBe(before);
  });

  it('failures and successes recorded while it is changed or deleted never deadlock', async () => {
    const before = await deadlocks();
    for (let round = 0; round < 4; round++) {
      const [client, receiver] = [await service.account(), await newReceiver()];
      let turn = 0;
      receiver.answerAlways(() => ({ status: turn++ % 3 === 0 ? 200 : 500 }));
      const { id } = await hook(client, receiver.url());
      await service.database.query('UPDATE webhooks SET failing_since = now() WHERE id = $1', [id]);
      await Promise.all(Array.from({ length: 20 }, () => failRecordings(service, client.accountId, 1)));
      await receiver.waitFor(({ length }) => length > 2);
      const disabled = { url: receiver.url(), events: ALL, status: 'disabled' };
      if (round % 2 === 0) await client.put(`/v1/webhooks/${id}`, disabled).expect(200);
      else await client.delete(`/v1/webhooks/${id}`).expect(204);
      const pending = async () => (await rowsOf(id)).filter(({ status }) => status === 'pending');
      await eventually(async () => (await pending()).length === 0);
    }
    expect(await deadlocks()).toBe(before);
  });

  it('locked deliveries do not delay the recording of others', async () => {
    const [client, other, receiver] = [await service.account(), await service.account(), await newReceiver()];
    let answer!: () => void;
    const after = new Promise<void>((resolve) => (answer = resolve));
    receiver.answerAlways({ after });
    const [{ id: held }, { id: free }] = [await hook(client, receiver.url('/held')), await hook(other, receiver.url())];
    await failRecordings(service, client.accountId, 2);
    await receiver.waitFor(({ length }) => length >= 1);
    await service.database.transact(async (tx) => {
      await tx.query('SELECT 1 FROM deliveries WHERE webhook_id = $1 FOR UPDATE', [held]);
      answer();
      const elapsed = startStopwatch();
      await failRecordings(service, other.accountId, 2);
      expect((await settledRows(free)).map(({ status }) => status)).toEqual(['delivered', 'delivered']);
      // A statement that waits for the lock is given up after 15 s.
      expect(elapsed()).toBeLessThan(5000);
      expect((await rowsOf(held)).some(({ status }) => status === 'pending')).toBe(true);
    });
    expect((await settledRows(held)).map(({ status }) => status)).toEqual(['delivered', 'delivered']);
  });

  it('DELETE drops what is pending; the events are kept', async () => {
    const [client, receiver] = [await service.account(), await newReceiver()];
    const other = await hook(client, 'http://127.0.0.1:9/');
    const id = await waiting(client, receiver, 2);
    await client.delete(`/v1/webhooks/${id}`).expect(204);
    expect(await rowsOf(id)).toEqual([]);
    expect(await rowsOf(other.id)).toHaveLength(2);
    expect(await eventsOf(client)).toHaveLength(2);
    expect(receiver.requests).toHaveLength(2);
  });

  it('a delivery that came into being while its webhook was disabled is failed by the reconciler', async () => {
    const [client, receiver] = [await service.account(), await newReceiver()];
    const id = await waiting(client, receiver, 1);
    await service.database.query(`UPDATE webhooks SET status = 'disabled' WHERE id = $1`, [id]);
    expect(await settledRows(id)).toMatchObject([{ status: 'failed', lastError: 'webhook disabled' }]);
  });

  describe('only failures for 5 days, and at least 10', () => {
    async function failAfter(days: number, failures: number, status = 500): Promise<{ client: ApiClient; id: string }> {
      const [client, receiver] = [await service.account(), await newReceiver()];
      receiver.answerAlways({ status, headers: { 'Retry-After': '600' } });
      const { id } = await hook(client, receiver.url());
      await service.database.query(
        `UPDATE webhooks SET consecutive_failures = $2,
           failing_since = now() - make_interval(days => $3) - interval '1 minute' WHERE id = $1`,
        [id, failures, days],
      );
      await failRecordings(service, client.accountId, 1);
      await eventually(async () => (await rowsOf(id))[0]?.lastStatus === status);
      return { client, id };
    }

    it('disables it, and fails what is pending', async () => {
      const { client, id } = await failAfter(5, 9);
      expect(await statusOf(client, id)).toBe('disabled');
      expect(await rowsOf(id)).toMatchObject([{ status: 'failed', lastError: 'webhook disabled' }]);
    });

    it('not after 5 days with 9 failures, nor after 4 days with 1000', async () => {
      for (const [days, failures] of [
        [5, 8],
        [4, 1000],
      ] as const) {
        const { client, id } = await failAfter(days, failures);
        expect(await statusOf(client, id)).toBe('active');
        // It has been failing since the first of them, not since the last.
        const [row] = await service.database.query(
          'SELECT consecutive_failures AS count, failing_since < now() - make_interval(days => $2) AS since FROM webhooks WHERE id = $1',
          [id, days],
        );
        expect(row).toEqual({ count: failures + 1, since: true });
      }
    });

    const NO_FAILURES = { failing_since: null, consecutive_failures: 0 };
    const failuresOf = async (id: string) =>
      (await service.database.query('SELECT failing_since, consecutive_failures FROM webhooks WHERE id = $1', [id]))[0];

    it('a success in between starts the count anew', async () => {
      const { client, id } = await failAfter(9, 1000, 204);
      expect(await statusOf(client, id)).toBe('active');
      expect(await failuresOf(id)).toEqual(NO_FAILURES);
    });

    it('enabling it again starts the count anew', async () => {
      const { client, id } = await failAfter(5, 9);
      const enabled = { url: 'http://127.0.0.1:9', events: ALL, status: 'active' };
      expect((await client.put(`/v1/webhooks/${id}`, enabled).expect(200)).body.status).toBe('active');
      expect(await failuresOf(id)).toEqual(NO_FAILURES);
    });
  });
});

describe('D29: a slow or dead endpoint never holds up another', () => {
  it('at most 4 deliveries are under way to one webhook', async () => {
    const client = await service.account();
    let most = 0;
    const hanging = await HostileReceiver.listen(() => {
      most = Math.max(most, hanging.openConnections);
    });
    receivers.push(hanging);
    const { id } = await hook(client, `http://127.0.0.1:${hanging.port}`);
    await failRecordings(service, client.accountId, 6);
    await eventually(async () => (await rowsOf(id)).every(({ attempts }) => attempts > 0));
    expect(most).toBe(4);
  });

  it('an endpoint that hangs with 100 deliveries costs the others less than 2 s (p95)', async () => {
    const client = await service.account();
    const hanging = await HostileReceiver.listen(() => undefined);
    receivers.push(hanging);
    const quick = await newReceiver();
    await hook(client, `http://127.0.0.1:${hanging.port}`);
    await hook(client, quick.url());
    const [emitted, arrived] = [new Map<string, number>(), new Map<string, number>()];
    quick.answerAlways((request) => {
      arrived.set(bodyOf(request).recording.id, workClock());
      return {};
    });
    for (let i = 0; i < 100; i++) {
      const [id] = (await failRecordings(service, client.accountId, 1)) as [string];
      emitted.set(id, workClock());
    }
    await eventually(() => arrived.size === 100);
    const waits = [...arrived].map(([id, at]) => at - (emitted.get(id) as number)).toSorted((a, b) => a - b);
    const [median, p95] = [waits[49] as number, waits[94] as number];
    reportMeasurement(
      `100 deliveries beside a hanging endpoint: median ${median.toFixed()} ms, p95 ${p95.toFixed()} ms`,
    );
    expect(p95).toBeLessThan(2000);
  });
});
