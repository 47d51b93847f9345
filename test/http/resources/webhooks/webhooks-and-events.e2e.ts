import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RecordingFailed } from '../../../../src/modules/recordings/recordings.events.js';
import { WebhookEventsService } from '../../../../src/modules/webhooks/events/webhook-events.service.js';
import type { Tx } from '../../../../src/platform/database/database.service.js';
import { EventBus } from '../../../../src/platform/database/event-bus.js';
import { SecretsService } from '../../../../src/platform/secrets.service.js';
import type { ApiClient } from '../../../../src/testing/api-client.js';
import { eventually } from '../../../../src/testing/eventually.js';
import { startService, useService } from '../../../../src/testing/test-service.js';
import { checkRows } from '../../../support/check-rows.js';
import { startStopwatch } from '../../../support/cpu-wait.js';
import { EventStreamClient } from '../../../support/http/clients/event-stream.js';
import { expectError, expectHeaders, expectInvalid, statusesOf } from '../../../support/http/expect-errors.js';
import { envelope, walk } from '../../../support/http/list-parameters.js';
import { CREATED_WEBHOOK, pageOf, WEBHOOK } from '../../../support/http/response-shapes.js';
import { FIXTURES } from '../../../support/paths.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';
import { addWebhooks } from '../../../support/state/filler-rows.js';
import { snapshotOf } from '../../../support/state/recording-events.js';
import { fail, transcribe, upload } from '../../../support/state/recording-states.js';

const HOOKS = '/v1/webhooks';
const URL_ = 'https://hooks.example.com/notes';
const BOTH = ['recording.transcribed', 'recording.failed'];
const GOOD = { url: URL_, events: BOTH };

const addresses = JSON.parse(readFileSync(join(FIXTURES, 'webhook-addresses.json'), 'utf8')) as {
  refused: Record<string, Record<string, string>>;
  accepted: Record<string, string>;
};
const fill = (url: string): string => url.replace(/\{(canary|redirect)\}/, '8000').replace('{long}', 'a'.repeat(3000));

const service = useService({ ROLES: 'api', WEBHOOK_ALLOWED_CIDRS: '', EVENT_STREAM_COMMENT_SECONDS: '1' });
const { environment } = service;

describe('webhooks', () => {
  let client: ApiClient;

  beforeEach(async () => {
    client = await service.account();
  });

  async function create(body: object = {}): Promise<{ id: string } & Record<string, unknown>> {
    return (await client.post(HOOKS, { ...GOOD, ...body }).expect(201)).body;
  }

  /** What deliveries are signed with, as it lies in the table. */
  async function storedSecret(id: string): Promise<{ sealed: string; plain: string }> {
    const [row] = await service.database.query<{ encrypted_secret: string }>(
      'SELECT encrypted_secret FROM webhooks WHERE id = $1',
      [id],
    );
    const sealed = row?.encrypted_secret ?? '';
    return { sealed, plain: service.app.get(SecretsService).decrypt(sealed, id) };
  }

  describe('create', () => {
    it('answers 201 with the creation shape, without updated_at (2.3, D2, D29)', async () => {
      const answer = await client.post(HOOKS, { ...GOOD, secret: 'sixteen-letters!' }).expect(201);

      expect(answer.body).toStrictEqual({ ...CREATED_WEBHOOK, ...GOOD, secret: 'sixteen-letters!' });
      expect(answer.body.uri).toBe(`${HOOKS}/${answer.body.id}`);
      expectHeaders(answer);
    });

    it('makes a secret when none is given: whsec_ and 32 random bytes in base64 (D29)', async () => {
      const [a, b] = [await create(), await create()];

      expect(a.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(a.secret).not.toBe(b.secret);
      expect((await storedSecret(a.id)).plain).toBe(a.secret);
    });

    it('shows the secret this once, and keeps it encrypted (D29)', async () => {
      const secret = 'a secret that is given';
      const { id } = await create({ secret });
      const answers = await Promise.all([
        client.get(HOOKS).expect(200),
        client.get(`${HOOKS}/${id}`).expect(200),
        client.put(`${HOOKS}/${id}`, { ...GOOD, secret }).expect(200),
      ]);

      expect(answers.map(({ text }) => text).join()).not.toContain(secret);
      const { sealed, plain } = await storedSecret(id);
      expect(plain).toBe(secret);
      expect(sealed).not.toContain(secret);
    });

    it('takes one kind of event or both in any order, the same address twice, and 2048 characters of it', async () => {
      expect((await create({ events: ['recording.failed'] })).events).toEqual(['recording.failed']);
      expect((await create({ events: BOTH.toReversed() })).events).toEqual(BOTH.toReversed());
      await create();
      await create({ url: `${URL_}/${'x'.repeat(2047 - URL_.length)}` });
      expect((await client.get(HOOKS)).body.total).toBe(4);
    });

    it('takes a secret of 16 to 256 characters of any script', async () => {
      for (const secret of ['0123456789abcdef', 'x'.repeat(256), 'ein Schlüssel für 🎙 und Töne']) {
        const created = await create({ secret });
        expect(created.secret).toBe(secret);
        expect((await storedSecret(created.id)).plain).toBe(secret);
      }
    });

    it('names every wrong field: an invalid url and an unknown event type', async () => {
      const answer = await client.post(HOOKS, { url: 'hooks.example.com', events: ['recording.completed'] });

      const { message, details } = answer.body.error;
      expect(message).toBe('url must be an absolute http or https URL. Also wrong: events.');
      expect(details.errors).toEqual([
        { field: 'url', reason: 'must be an absolute http or https URL' },
        {
          field: 'events',
          reason:
            '"recording.completed" is not an event type. Use recording.transcribed, recording.failed, transcription.corrected or recording.partial',
        },
      ]);
    });

    it('says that a missing field is required', async () => {
      const answer = await client.post(HOOKS, { events: BOTH });

      expectInvalid(answer, 'url', /^is required$/);
      expect(answer.body.error.message).toBe('url is required.');
    });

    it('refuses what breaks a rule, naming the field (D29, 2001)', async () => {
      await checkRows<[what: string, body: object, field: string]>(
        [
          ['a url of 2049 characters', { url: `${URL_}/${'x'.repeat(2048 - URL_.length)}` }, 'url'],
          ['no events', { events: undefined }, 'events'],
          ['an event in capitals', { events: ['RECORDING.FAILED'] }, 'events'],
          ['an event of the feed only', { events: ['recording.deleted'] }, 'events'],
          ['an event twice', { events: ['recording.failed', 'recording.failed'] }, 'events'],
          ['text for events', { events: 'recording.failed' }, 'events'],
          ['a secret of 15 characters', { secret: '0123456789abcde' }, 'secret'],
          ['a secret of 257 characters', { secret: 'x'.repeat(257) }, 'secret'],
          ['null for a secret', { secret: null }, 'secret'],
          ['a secret with a control character', { secret: `0123456789abcdef\u0007` }, 'secret'],
          ['a status, which only PUT takes', { status: 'disabled' }, 'status'],
          ['hours, which only PUT takes (D37)', { previous_secret_valid_hours: 1 }, 'previous_secret_valid_hours'],
        ],
        async (_, body, field) => expectInvalid(await client.post(HOOKS, { ...GOOD, ...body }), field),
      );
      expect((await client.get(HOOKS)).body.total).toBe(0);
    });

    it('refuses an address that is not public (D29)', async () => {
      const urls = Object.values(addresses.refused).flatMap((cases) => Object.keys(cases));
      await checkRows(
        urls.map((url) => [url] as const),
        async (url) => expectInvalid(await client.post(HOOKS, { ...GOOD, url: fill(url) }), 'url'),
      );
      expect((await client.get(HOOKS)).body.total).toBe(0);
    });

    it('names a private address together with every other wrong field', async () => {
      const wrong = { url: 'http://10.0.0.1/', events: ['recording.deleted'] };
      expectInvalid(await client.post(HOOKS, wrong), 'url', /private/, ['url', 'events']);

      const { id } = await create();
      expectInvalid(await client.put(`${HOOKS}/${id}`, wrong), 'url', /private/, ['url', 'events']);
      // An unchanged URL stays valid even if the rules have become stricter since.
      await service.database.query(`UPDATE webhooks SET url = $2 WHERE id = $1`, [id, wrong.url]);
      expectInvalid(await client.put(`${HOOKS}/${id}`, wrong), 'events');
    });

    it('takes every other address as it was sent, also one that has no address yet (D29)', async () => {
      const urls = [...Object.keys(addresses.accepted), 'https://nowhere.example.invalid/'];
      const created = await Promise.all(urls.map((url) => create({ url })));

      expect(created.map(({ url }) => url)).toEqual(urls);
    });

    it('takes a local address, whatever its port, where the operator allows its network (D29)', async () => {
      const local = await startService(environment, { ROLES: 'api', WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8,10.1.0.0/16' });
      try {
        const there = client.at(local.url);
        for (const url of ['http://127.0.0.1:22/', 'http://localhost:6379/', 'http://10.1.2.3/']) {
          await there.post(HOOKS, { ...GOOD, url }).expect(201);
        }
        expectInvalid(await there.post(HOOKS, { ...GOOD, url: 'http://10.2.0.1/' }), 'url');
      } finally {
        await local.close();
      }
    });

    it('stops at 50 webhooks, however many are asked for at once; disabled ones count (D7)', async () => {
      const [first] = await addWebhooks(service, client, 43);
      const answers = await Promise.all(Array.from({ length: 15 }, () => client.post(HOOKS, GOOD)));
      expect(statusesOf(answers)).toEqual([...Array(7).fill(201), ...Array(8).fill(400)]);
      for (const answer of answers) {
        if (answer.status !== 201) expectError(answer, 'LimitExceededError', { maximum: 50 });
      }

      await client.put(`${HOOKS}/${first}`, { ...GOOD, status: 'disabled' }).expect(200);
      expectError(await client.post(HOOKS, GOOD), 'LimitExceededError', { maximum: 50 });
      await client.delete(`${HOOKS}/${first}`).expect(204);
      await create();
      expectError(await client.post(HOOKS, GOOD), 'LimitExceededError', { maximum: 50 });
    });
  });

  describe('list', () => {
    it('answers with a page of webhooks, newest first, in exactly their shape (2.6, D17)', async () => {
      const [first, second] = [await create({ url: `${URL_}/1` }), await create({ url: `${URL_}/2` })];
      const answer = await client.get(HOOKS).expect(200);

      expect(answer.body).toStrictEqual({ ...pageOf('webhooks'), ...envelope(HOOKS, { size: 2, total: 2 }) });
      expect(answer.body.webhooks).toStrictEqual([
        { ...WEBHOOK, ...GOOD, id: second.id, url: `${URL_}/2`, status: 'active' },
        { ...WEBHOOK, ...GOOD, id: first.id, url: `${URL_}/1`, status: 'active' },
      ]);
      expectHeaders(answer);
    });

    it('is walked to its end, and has a fixed order also for the same instant: by id, the last first (D17)', async () => {
      const ids: string[] = [];
      for (let i = 0; i < 6; i++) ids.push((await create()).id);
      // Rows that are written again lie in another order in the table.
      for (const id of [ids[3], ids[0], ids[4], ids[1]]) {
        await service.database.query(`UPDATE webhooks SET created_at = '2026-01-01T00:00:00Z' WHERE id = $1`, [id]);
      }
      const same = ids
        .filter((_, i) => i !== 2 && i !== 5)
        .toSorted()
        .toReversed();
      const listed = await walk(client, HOOKS, 'webhooks', { limit: 2, total: 6 });
      expect(listed).toEqual([ids[5], ids[2], ...same]);
      const past = await client.get(`${HOOKS}?page=4&limit=2`).expect(200);
      expect(past.body).toStrictEqual({ webhooks: [], ...envelope(HOOKS, { page: 4, limit: 2, total: 6 }) });
    });

    it('can be narrowed to a status, which the page URIs repeat (D17, D19)', async () => {
      const [on, off] = [await create(), await create()];
      await client.put(`${HOOKS}/${off.id}`, { ...GOOD, status: 'disabled' }).expect(200);

      for (const [status, id] of [
        ['active', on.id],
        ['disabled', off.id],
      ] as const) {
        const { body } = await client.get(`${HOOKS}?status=${status}`).expect(200);
        expect(body).toMatchObject(envelope(HOOKS, { size: 1, total: 1, filters: `&status=${status}` }));
        expect(body.webhooks).toMatchObject([{ id, status }]);
      }
    });
  });

  it('get answers with the webhook as the list shows it (D29)', async () => {
    const { id } = await create();
    const { body } = await client.get(`${HOOKS}/${id}`).expect(200);
    expect(body).toStrictEqual({ ...WEBHOOK, ...GOOD, id, status: 'active', uri: `${HOOKS}/${id}` });
  });

  describe('update', () => {
    it('answers 200 with the webhook, without its secret (4.4, D29)', async () => {
      const { id, created_at: createdAt } = await create();
      const change = { url: 'https://other.example.com/', events: ['recording.failed'] };
      const answer = await client.put(`${HOOKS}/${id}`, change).expect(200);

      expect(answer.body).toStrictEqual({
        ...WEBHOOK,
        ...change,
        id,
        status: 'active',
        created_at: (createdAt as string).slice(0, 19),
      });
      expect((await client.get(`${HOOKS}/${id}`)).body).toEqual(answer.body);
      expectHeaders(answer);
    });

    it('has the time of the change, also of one that changes nothing', async () => {
      const { id } = await create();
      await service.database.query(
        `UPDATE webhooks SET created_at = created_at - interval '1 hour', updated_at = updated_at - interval '1 hour'
         WHERE id = $1`,
        [id],
      );
      const before = Date.now();
      const { body } = await client.put(`${HOOKS}/${id}`, GOOD).expect(200);
      expect(Date.parse(`${body.updated_at}Z`)).toBeGreaterThan(before - 2000);
      expect(Date.parse(`${body.created_at}Z`)).toBeLessThan(before - 3_590_000);
    });

    it('keeps the secret when none is sent, and takes a new one (D29)', async () => {
      const { id, secret } = await create();
      await client.put(`${HOOKS}/${id}`, GOOD).expect(200);
      expect((await storedSecret(id)).plain).toBe(secret);

      await client.put(`${HOOKS}/${id}`, { ...GOOD, secret: 'another secret of mine' }).expect(200);
      expect((await storedSecret(id)).plain).toBe('another secret of mine');
    });

    it('keeps two previous secrets from two changes at the same time from each other: one of them is the present one', async () => {
      const { id } = await create();
      const secrets = Array.from({ length: 6 }, (_, i) => `a secret of its own, number ${i}`);
      const put = (secret: string) => client.put(`/v1/webhooks/${id}`, { url: URL_, events: BOTH, secret });
      await Promise.all(secrets.map((secret) => put(secret).expect(200)));
      const [row] = await service.database.query<{ now: string; before: string }>(
        'SELECT encrypted_secret AS now, previous_encrypted_secret AS before FROM webhooks WHERE id = $1',
        [id],
      );
      const sealing = service.app.get(SecretsService);
      const [present, previous] = [sealing.decrypt(row?.now as string, id), sealing.decrypt(row?.before as string, id)];
      expect(secrets).toEqual(expect.arrayContaining([present, previous]));
      expect(present).not.toBe(previous);
    });

    it('switches off and on, and keeps the status when none is sent (D29)', async () => {
      const { id } = await create();
      const put = async (body: object) => (await client.put(`${HOOKS}/${id}`, { ...GOOD, ...body }).expect(200)).body;

      expect((await put({ status: 'disabled' })).status).toBe('disabled');
      expect((await put({})).status).toBe('disabled');
      expect((await put({ status: 'active' })).status).toBe('active');
      expect((await put({})).status).toBe('active');
    });

    it('refuses what breaks a rule, naming the field, and changes nothing (D29, D37)', async () => {
      const { id } = await create();
      const before = await client.get(`${HOOKS}/${id}`).expect(200);
      const wrongHours = [-1, 25, 1.5, '24', null].map((hours) => ({ previous_secret_valid_hours: hours }));
      await checkRows<[what: string, body: object, field: string]>(
        [
          ['no url', { url: undefined }, 'url'],
          ['a private address', { url: 'http://10.0.0.1/' }, 'url'],
          ['no events', { events: undefined }, 'events'],
          ['an unknown event', { events: ['recording.deleted'] }, 'events'],
          ['a short secret', { secret: 'short' }, 'secret'],
          ['null for a secret', { secret: null }, 'secret'],
          ['an unknown status', { status: 'paused' }, 'status'],
          ['null for a status', { status: null }, 'status'],
          ['an unknown field', { id: randomUUID() }, 'id'],
          ...wrongHours.map((body): [string, object, string] => ['hours', body, 'previous_secret_valid_hours']),
        ],
        async (_, body, field) => expectInvalid(await client.put(`${HOOKS}/${id}`, { ...GOOD, ...body }), field),
      );
      expect((await client.get(`${HOOKS}/${id}`)).body).toEqual(before.body);
    });
  });

  it('delete answers 204 without a body, and 404 for a second time', async () => {
    const { id } = await create();
    const answer = await client.delete(`${HOOKS}/${id}`).expect(204);
    expect(answer.text).toBe('');
    expectError(await client.delete(`${HOOKS}/${id}`), 'NotFoundError');
    expectError(await client.get(`${HOOKS}/${id}`), 'NotFoundError');
    expectError(await client.put(`${HOOKS}/${id}`, GOOD), 'NotFoundError');
    expect((await client.get(HOOKS)).body.total).toBe(0);
  });
});

const EVENTS = '/v1/events';

interface ListedEvent {
  id: string;
  sequence: number;
  event: string;
  created_at: string;
  body: { event: string; recording: { id: string; status: string } };
}

/** All events after a sequence, page by page. */
async function read(client: ApiClient, after = 0, limit = 100): Promise<ListedEvent[]> {
  const events: ListedEvent[] = [];
  for (let uri: string | null = `${EVENTS}?after=${after}&limit=${limit}`; uri !== null;) {
    const { body }: { body: { events: ListedEvent[]; next_uri: string | null } } = await client.get(uri).expect(200);
    events.push(...body.events);
    uri = body.next_uri;
  }
  return events;
}

const numbers = (count: number, from = 1): number[] => Array.from({ length: count }, (_, i) => from + i);

const emit = (client: ApiClient, tx: Tx): Promise<void> =>
  service.app.get(EventBus).emit(new RecordingFailed(snapshotOf(client.accountId), 'a test'), tx);

const change = (client: ApiClient): Promise<void> => service.database.transact((tx) => emit(client, tx));

/** Many events that are committed, without numbers. */
async function insertMany(client: ApiClient, count: number, bodyBytes = 2): Promise<void> {
  await service.database.query(
    `INSERT INTO events (id, account_id, kind, recording_id, run, body, created_at)
     SELECT gen_random_uuid(), $1, 'recording.failed', gen_random_uuid(), 1,
       json_build_object('n', i, 'pad', repeat('x', $3::int)), now() FROM generate_series(1, $2::int) i`,
    [client.accountId, count, bodyBytes],
  );
}

describe('the event feed (D40)', () => {
  it('holds what happened to recordings, in order, page by page', async () => {
    const client = await service.account();
    const first = await upload(client, { custom_tags: '{"z":"1","10":"2"}' });
    const second = await upload(client);
    await transcribe(service, first);
    await fail(service, second, 'no audio');
    await client.post(`/v1/recordings/${second}/retry`).expect(202);
    await client.delete(`/v1/recordings/${first}`).expect(204);

    const events = await read(client, 0, 2);
    expect(
      events.map(({ sequence, event, body }) => [sequence, event, body.recording.id, body.recording.status]),
    ).toEqual([
      [1, 'recording.accepted', first, 'processing'],
      [2, 'recording.accepted', second, 'processing'],
      [3, 'recording.transcribed', first, 'transcribed'],
      [4, 'recording.failed', second, 'failed'],
      [5, 'recording.accepted', second, 'processing'],
      [6, 'recording.deleted', first, 'deleted'],
    ]);
    for (const { event, body } of events) expect(body.event).toBe(event);

    const page = await client.get(`${EVENTS}?limit=4`).expect(200);
    expect(Object.keys(page.body)).toEqual(['events', 'uri', 'next_uri']);
    expect(page.body).toMatchObject({ uri: '/v1/events?after=0&limit=4', next_uri: '/v1/events?after=4&limit=4' });
    expect(page.text).toContain('"custom_tags":{"z":"1","10":"2"}');
    const rest = await client.get(page.body.next_uri).expect(200);
    expect([rest.body.events.length, rest.body.next_uri]).toEqual([2, null]);
    expect((await client.get(`${EVENTS}?after=latest`).expect(200)).body).toEqual({
      events: [],
      uri: '/v1/events?after=latest&limit=50',
      next_uri: null,
    });
  });

  it('tells that more follows a full page also while that has no number', async () => {
    const client = await service.account();
    await insertMany(client, 2);
    expect((await client.get(`${EVENTS}?limit=2`).expect(200)).body.next_uri).toBeNull();
    await insertMany(client, 1);
    const { body } = await client.get(`${EVENTS}?limit=2`).expect(200);
    expect(body.next_uri).toBe('/v1/events?after=2&limit=2');
  });

  it('refuses what is no place in it', async () => {
    const client = await service.account();
    await checkRows(
      [
        ['after=-1', 'after', 'must be the sequence of an event, or latest'],
        ['after=1&after=2', 'after', 'may be given only once'],
        ['limit=101', 'limit', 'must be an integer from 1 to 100'],
      ],
      async (query, field, reason) => {
        const details = expect.objectContaining({ field, reason });
        expectError(await client.get(`${EVENTS}?${query}`), 'ValidationError', details);
      },
    );
  });

  it('shows nothing of other accounts', async () => {
    const [owner, stranger] = [await service.account(), await service.account()];
    const stream = await EventStreamClient.open(stranger);
    const id = await upload(owner);
    expect(await read(stranger)).toEqual([]);
    expect(await read(owner)).toHaveLength(1);
    await upload(stranger);
    await eventually(() => stream.events.length > 0);
    stream.close();
    expect(JSON.stringify(stream.events)).not.toContain(id);
    expect(stream.ids).toEqual([1]);
  });

  it('makes no change of an account wait for another, and misses none that commits late', async () => {
    const client = await service.account();
    let commit: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (commit = resolve));
    let began: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (began = resolve));
    const late = service.database.transact(async (tx) => {
      await emit(client, tx);
      began();
      await held;
    });
    await begun;
    const stream = await EventStreamClient.open(client);
    const id = await upload(client);
    const early = await read(client);
    expect(early.map(({ sequence, body }) => [sequence, body.recording.id])).toEqual([[1, id]]);
    await stream.received('recording.accepted', id);
    commit();
    await late;
    expect((await read(client, 1)).map(({ sequence, event }) => [sequence, event])).toEqual([[2, 'recording.failed']]);
    await eventually(() => stream.events.length === 2);
    expect(stream.ids).toEqual([1, 2]);
    stream.close();
  });

  it('gives each event to each reader once, whatever commits and reads at the same time', async () => {
    const [client, second] = [await service.account(), await startService(environment, { ROLES: 'api' })];
    const streams = [await EventStreamClient.open(client), await EventStreamClient.open(client.at(second.url))];
    let done = false;
    const slow = async (i: number): Promise<void> => {
      await service.database.transact(async (tx) => {
        await emit(client, tx);
        await delay((i * 7) % 40);
        if (i % 5 === 0) throw new Error('rolled back');
      });
    };
    const writing = (async () => {
      for (let round = 0; round < 12; round++) await Promise.allSettled(numbers(10).map(slow));
    })().finally(() => (done = true));
    const reading = [client, client.at(second.url)].map(async (reader) => {
      const seen: ListedEvent[] = [];
      for (let last = false; !last;) {
        last = done;
        seen.push(...(await read(reader, seen.at(-1)?.sequence ?? 0, 3)));
      }
      return seen;
    });
    await writing;
    const expected = numbers(12 * 8);
    for (const seen of await Promise.all(reading)) {
      expect(seen.map(({ sequence }) => sequence)).toEqual(expected);
      expect(new Set(seen.map(({ id }) => id)).size).toBe(expected.length);
    }
    await eventually(() => streams.every(({ events }) => events.length >= expected.length));
    for (const stream of streams) {
      expect(stream.ids).toEqual(expected);
      stream.close();
    }
    await second.close();
  });

  it('begins with the oldest event that is kept', async () => {
    const client = await service.account();
    for (let i = 0; i < 3; i++) await change(client);
    await read(client);
    await service.database.query(
      `UPDATE events SET created_at = now() - interval '31 days' WHERE account_id = $1 AND sequence < 3`,
      [client.accountId],
    );
    await service.app.get(WebhookEventsService).deleteOld();
    expect((await read(client)).map(({ sequence }) => sequence)).toEqual([3]);
    const stream = await EventStreamClient.open(client, { lastEventId: 1 });
    await eventually(() => stream.events.length > 0);
    stream.close();
    expect(stream.ids).toEqual([3]);
  });
});

describe('the event stream (D40)', () => {
  it('sends events as they happen, as text/event-stream that no proxy keeps', async () => {
    const client = await service.account();
    const stream = await EventStreamClient.open(client);
    expect(stream.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-ratelimit-limit': '1000',
    });
    const id = await upload(client);
    const uploadedAt = Date.now();
    const accepted = await stream.received('recording.accepted', id);
    expect(accepted.at - uploadedAt).toBeLessThan(3000);
    const [listed] = await read(client);
    expect(JSON.parse(accepted.data)).toEqual(listed?.body);
    await eventually(() => stream.comments > 1);
    stream.close();
  });

  it('goes on after Last-Event-ID, or ?after, and begins with what is yet to come after latest', async () => {
    const client = await service.account();
    await insertMany(client, 250);
    const all = await EventStreamClient.open(client);
    await eventually(() => all.events.length === 250);
    expect(all.ids).toEqual(numbers(250));
    const others = await Promise.all([
      EventStreamClient.open(client, { lastEventId: 248 }),
      EventStreamClient.open(client, { query: '?after=249' }),
      EventStreamClient.open(client, { query: '?after=1', lastEventId: '249' }),
      EventStreamClient.open(client, { query: '?after=latest' }),
    ]);
    await eventually(() => others[3].lastEventId === 250);
    await change(client);
    await eventually(() => others.every(({ lastEventId }) => lastEventId === 251));
    expect(others.map(({ ids }) => ids)).toEqual([[249, 250, 251], [250, 251], [250, 251], [251]]);
    for (const stream of [all, ...others]) stream.close();

    // Nobody has read its events, so that they have no numbers yet.
    const unread = await service.account();
    await insertMany(unread, 3);
    const latest = await EventStreamClient.open(unread, { query: '?after=latest' });
    await eventually(() => latest.lastEventId === 3);
    await change(unread);
    await eventually(() => latest.lastEventId === 4);
    expect(latest.ids).toEqual([4]);
    latest.close();
  });

  it('refuses a Last-Event-ID that is none, and answers HEAD without a stream', async () => {
    const client = await service.account();
    const answer = await client.get(`${EVENTS}/stream`).set('Last-Event-ID', 'latest');
    expectError(answer, 'ValidationError', expect.objectContaining({ field: 'Last-Event-ID' }));
    const head = await fetch(`${client.url}${EVENTS}/stream`, { method: 'HEAD', headers: client.headers });
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  });

  it('is open 10 times for an account, in all processes together; a slot is free when one is closed', async () => {
    const [client, second] = [await service.account(), await startService(environment, { ROLES: 'api' })];
    const urls = [service.url, second.url];
    const open = (i: number) => EventStreamClient.open(client.at(urls[i % 2] as string));
    const streams = await Promise.all(numbers(10).map(open));
    expect(streams.map(({ status }) => status)).toEqual(numbers(10).map(() => 200));
    const other = await EventStreamClient.open(await service.account());
    expect(other.status).toBe(200);
    for (const url of urls) {
      const refused = await client.at(url).get(`${EVENTS}/stream`);
      expectError(refused, 'RateLimitError', { retry_after: 1, limit: 10, used: 10 });
      expect(refused.headers['content-type']).toBe('application/json; charset=utf-8');
    }
    streams[0]?.close();
    const again = await eventually(async () => {
      const stream = await open(1);
      return stream.status === 200 && stream;
    });
    for (const stream of [...streams, other, again]) stream.close();
    await second.close();
  });

  it('ends within 5 s when its key is revoked or its account suspended, and only then', async () => {
    const [client, suspended] = [await service.account(), await service.account()];
    const weak = await service.key(client, ['recordings:read']);
    const [kept, ofKey, ofAccount] = await Promise.all([
      EventStreamClient.open(client),
      EventStreamClient.open(weak),
      EventStreamClient.open(suspended),
    ]);
    const startedAt = Date.now();
    await client.delete(`/v1/account/api-keys/${weak.credentials.id}`).expect(204);
    await service.database.query(`UPDATE accounts SET status = 'suspended' WHERE id = $1`, [suspended.accountId]);
    await Promise.all([ofKey.ended(), ofAccount.ended()]);
    expect(Date.now() - startedAt).toBeLessThan(15_000);
    expect(kept.endedAt).toBeNull();
    kept.close();
  });

  it('ends when the service stops, which it does not keep from stopping', async () => {
    const [client, stopping] = [await service.account(), await startService(environment, { ROLES: 'api' })];
    const streams = await Promise.all(numbers(5).map(() => EventStreamClient.open(client.at(stopping.url))));
    const startedAt = Date.now();
    await stopping.close();
    expect(Date.now() - startedAt).toBeLessThan(8000);
    await Promise.all(streams.map((stream) => stream.ended()));
    const again = await EventStreamClient.open(client);
    expect(again.status).toBe(200);
    again.close();
  });

  it('sends events within seconds also while Redis is unavailable', async () => {
    const proxy = await TcpProxy.to(environment.variables.REDIS_URL as string);
    const alone = await startService(environment, { ROLES: 'api', REDIS_URL: proxy.url });
    const client = await service.account();
    await proxy.cut();
    const stream = await EventStreamClient.open(client.at(alone.url));
    await change(client);
    const elapsed = startStopwatch();
    await eventually(() => stream.events.length === 1);
    // Every 2 s it looks for them.
    expect(elapsed()).toBeLessThan(8000);
    stream.close();
    await alone.close();
  });

  it('waits for a reader that does not read, and sends it everything once it does', async () => {
    const client = await service.account();
    const stream = await EventStreamClient.open(client);
    stream.response.pause();
    await insertMany(client, 4000, 4000);
    const before = process.memoryUsage().rss;
    await delay(4000);
    expect(process.memoryUsage().rss - before).toBeLessThan(40_000_000);
    stream.response.resume();
    await eventually(() => stream.events.length === 4000);
    expect(stream.ids).toEqual(numbers(4000));
    stream.close();
  });
});
