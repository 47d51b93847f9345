import { setTimeout as delay } from 'node:timers/promises';
import { RecordingFailed } from '../../../src/modules/recordings/recordings.events.js';
import { WebhookEventsService } from '../../../src/modules/webhooks/events/webhook-events.service.js';
import type { Tx } from '../../../src/platform/database/database.service.js';
import { EventBus } from '../../../src/platform/database/event-bus.js';
import { checkRows } from '../../support/check-rows.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { startStopwatch } from '../../support/cpu-wait.js';
import { EventStreamClient } from '../../support/http/clients/event-stream.js';
import { expectError } from '../../support/http/expect-errors.js';
import { TcpProxy } from '../../support/servers/tcp-proxy.js';
import { snapshotOf } from '../../support/state/recording-events.js';
import { fail, transcribe, upload } from '../../support/state/recording-states.js';

const EVENTS = '/v1/events';

const service = useService({ ROLES: 'api', EVENT_STREAM_COMMENT_SECONDS: '1' });
const { environment } = service;

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
