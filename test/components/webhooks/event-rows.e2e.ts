import {
  accountsWithUnnumberedEvents,
  numberEvents,
  selectAccountsWithNewEvents,
  selectNextEvents,
} from '../../../src/modules/webhooks/events/event-feed.service.js';
import {
  deleteOldEvents,
  FIRST_PLACE,
  lockEventsOfUser,
  replaceBodies,
  selectEventsOfUser,
} from '../../../src/modules/webhooks/events/webhook-events.service.js';
import { DatabaseService } from '../../../src/platform/database/database.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { reportMeasurement } from '../../support/service/measurements.js';
import { failDelivery } from '../../support/state/recording-events.js';
import { costOf } from '../../support/state/statement-cost.js';

/** Sends nothing. */
const api = useService({ ROLES: 'api' });
const HOOK = { url: 'http://127.0.0.1:9/', events: ['recording.failed'] };
const HOUR_MS = 3_600_000;

const byText = (a: string, b: string): number => (a < b ? -1 : 1);

let client: ApiClient;
let other: ApiClient;

beforeEach(async () => {
  await api.database.query('DELETE FROM events');
  [client, other] = [await api.account(), await api.account()];
});

/** Committed events without numbers, one after another, each with the name of its body as its kind. */
async function insert({ accountId }: ApiClient, ...names: string[]): Promise<void> {
  for (const [i, name] of names.entries()) {
    await api.database.query(
      `INSERT INTO events (id, account_id, kind, body, created_at)
       VALUES (gen_random_uuid(), $1, 'recording.accepted', $2, now() - make_interval(mins => $3))`,
      [accountId, name, i],
    );
  }
}

const sequences = async ({ accountId }: ApiClient): Promise<unknown[]> =>
  await api.database.query('SELECT body, sequence::int FROM events WHERE account_id = $1 ORDER BY position', [
    accountId,
  ]);

describe('the numbers of events', () => {
  it('follow the order in which they were inserted, from 1 in each account, without a gap', async () => {
    await insert(client, 'a', 'b', 'c');
    await insert(other, 'x');
    expect(await numberEvents(api.database, [client.accountId], 2)).toBe(2);
    expect(await sequences(client)).toEqual([
      { body: 'a', sequence: 1 },
      { body: 'b', sequence: 2 },
      { body: 'c', sequence: null },
    ]);
    await insert(client, 'd');
    const both = [client.accountId, other.accountId, client.accountId];
    expect(await numberEvents(api.database, both, 1000)).toBe(3);
    expect((await sequences(client)).slice(2)).toEqual([
      { body: 'c', sequence: 3 },
      { body: 'd', sequence: 4 },
    ]);
    expect(await sequences(other)).toEqual([{ body: 'x', sequence: 1 }]);
    expect(await numberEvents(api.database, both, 1000)).toBe(0);
    const last = await api.database.query('SELECT last::int FROM event_sequences WHERE account_id = ANY ($1)', [both]);
    expect(last).toEqual(expect.arrayContaining([{ last: 4 }, { last: 1 }]));
  });

  it('are missing in these accounts, each once, as many as asked for', async () => {
    const third = await api.account();
    await insert(client, 'a', 'b');
    await insert(other, 'x');
    await insert(third, 'y');
    await numberEvents(api.database, [third.accountId], 10);
    const expected = [client.accountId, other.accountId].toSorted();
    expect((await accountsWithUnnumberedEvents(api.database, 10)).toSorted()).toEqual(expected);
    expect(await accountsWithUnnumberedEvents(api.database, 1)).toHaveLength(1);
  });
});

describe('a page of the feed', () => {
  it('is read for several readers in one statement, so many events for each, in its place', async () => {
    await insert(client, 'a', 'b', 'c');
    await insert(other, 'x', 'y');
    await numberEvents(api.database, [client.accountId, other.accountId], 100);
    await insert(client, 'unnumbered');
    const readers = [
      { accountId: client.accountId, after: 1 },
      { accountId: other.accountId, after: 5 },
      { accountId: other.accountId, after: 1 },
      { accountId: client.accountId, after: 0 },
    ];
    const found = await selectNextEvents(api.database, readers, 2);
    expect(found.map(({ place, body, sequence }) => [place, body, sequence])).toEqual([
      [0, 'b', 2],
      [0, 'c', 3],
      [2, 'y', 2],
      [3, 'a', 1],
      [3, 'b', 2],
    ]);
    expect(found[0]).toMatchObject({ kind: 'recording.accepted', createdAt: expect.any(Date) });
  });

  it('has news for a reader that is behind, also of events without a number, and for no other', async () => {
    await insert(client, 'a', 'b');
    await numberEvents(api.database, [client.accountId], 100);
    const [mine, theirs] = [client.accountId, other.accountId];
    const newsAfter = (after: number) =>
      selectAccountsWithNewEvents(api.database, [
        { accountId: mine, after },
        { accountId: theirs, after: 0 },
      ]);
    expect(await newsAfter(1)).toEqual([mine]);
    expect(await newsAfter(2)).toEqual([]);
    await insert(other, 'x');
    expect(await newsAfter(2)).toEqual([theirs]);
  });
});

describe('old events', () => {
  it('are deleted when they are older than the days, so many at a time, but for those still to be delivered', async () => {
    await insert(client, 'old', 'older', 'oldest', 'recent', 'pending');
    const age = (body: string, ms: number) =>
      api.database.query('UPDATE events SET created_at = $2 WHERE body = $1', [body, new Date(Date.now() - ms)]);
    for (const body of ['old', 'older', 'oldest', 'pending']) await age(body, 48 * HOUR_MS + 60_000);
    await age('recent', 48 * HOUR_MS - 60_000);
    const { id } = (await client.post('/v1/webhooks', HOOK).expect(201)).body;
    await api.database.query(
      `INSERT INTO deliveries (id, account_id, event_id, webhook_id, status, next_attempt_at, created_at, updated_at)
       SELECT gen_random_uuid(), account_id, id, $1, CASE body WHEN 'pending' THEN 'pending' ELSE 'delivered' END,
         CASE body WHEN 'pending' THEN now() END, now(), now() FROM events WHERE body IN ('pending', 'old')`,
      [id],
    );
    let after = FIRST_PLACE;
    const rounds = [];
    for (let i = 0; i < 3; i++) {
      const { scanned, deleted, last } = await deleteOldEvents(api.database, 2, after, 2);
      rounds.push([scanned, deleted]);
      after = last ?? after;
    }
    expect(rounds.map(([scanned]) => scanned)).toEqual([2, 2, 0]);
    expect(rounds.reduce((sum, [, deleted = 0]) => sum + deleted, 0)).toBe(3);
    expect(await deleteOldEvents(api.database, 2, FIRST_PLACE, 2)).toMatchObject({ scanned: 1, deleted: 0 });
    const left = await api.database.query<{ body: string }>('SELECT body FROM events');
    expect(left.map(({ body }) => body).toSorted()).toEqual(['pending', 'recent']);
    expect(await api.database.query('SELECT status FROM deliveries WHERE webhook_id = $1', [id])).toEqual([
      { status: 'pending' },
    ]);
  });

  it('that wait for a delivery cost the same however many there are', async () => {
    const { id } = (await client.post('/v1/webhooks', HOOK).expect(201)).body;
    await api.database.query(
      `INSERT INTO events (id, account_id, kind, body, created_at)
       SELECT gen_random_uuid(), $1, 'x', 'waits', now() - interval '90 days' + i * interval '1 second'
       FROM generate_series(1, 20000) i`,
      [client.accountId],
    );
    await api.database.query(
      `INSERT INTO deliveries (id, account_id, event_id, webhook_id, status, next_attempt_at, created_at, updated_at)
       SELECT gen_random_uuid(), account_id, id, $1, 'pending', now(), now(), now() FROM events WHERE body = 'waits'`,
      [id],
    );
    await api.database.query('ANALYZE events, deliveries');
    const database = api.app.get(DatabaseService);
    let after = FIRST_PLACE;
    for (let i = 0; i < 3; i++) {
      const { pages } = await costOf(database, (runner) => deleteOldEvents(runner, 2, after, 200));
      reportMeasurement(`200 of 20,000 old events that wait for a delivery: ${pages} pages`);
      expect(pages).toBeLessThan(2500);
      const { scanned, deleted, last } = await deleteOldEvents(database, 2, after, 200);
      expect([scanned, deleted]).toEqual([200, 0]);
      after = last ?? after;
    }
  });
});

describe('the events of an end user', () => {
  const named = async (by: ApiClient, user: string | null, count: number): Promise<string[]> => {
    const rows = await api.database.query<{ id: string }>(
      `INSERT INTO events (id, account_id, kind, body, user_id, created_at)
       SELECT gen_random_uuid(), $1, 'recording.accepted', 'before', $2, now() FROM generate_series(1, $3::int)
       RETURNING id`,
      [by.accountId, user, count],
    );
    return rows.map(({ id }) => id).toSorted();
  };

  it('are found in their account alone, and locked in the order of their ids until the commit', async () => {
    const ids = await named(client, 'zoe', 4);
    await named(client, 'grace', 1);
    await named(client, null, 1);
    await named(other, 'zoe', 1);
    const select = (count: number) => selectEventsOfUser(api.database, client.accountId, 'zoe', 'now', count);
    expect(await select(3)).toHaveLength(3);
    expect((await select(10)).toSorted(byText)).toEqual(ids);
    const lock = (userId: string) =>
      api.database.transact((tx) => lockEventsOfUser(tx, userId, ids.slice(0, 3).toReversed()));
    expect(await lock('zoe')).toEqual(ids.slice(0, 3).map((id) => ({ id, body: 'before' })));
    expect(await lock('eve')).toEqual([]);
    await api.database.transact(async (tx) => {
      await lockEventsOfUser(tx, 'zoe', ids.slice(0, 1));
      const free = await api.database.query<{ id: string }>(
        'SELECT id FROM events WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED',
        [ids],
      );
      expect(free.map(({ id }) => id)).toEqual(ids.slice(1));
    });
  });

  it('each get a new body and lose the answers of receivers; other events keep theirs', async () => {
    const { id: webhookId } = (await client.post('/v1/webhooks', HOOK).expect(201)).body;
    const deliveries: string[] = [];
    for (let i = 0; i < 3; i++) deliveries.push(await failDelivery(api, client.accountId, webhookId));
    await api.database.query(`UPDATE deliveries SET last_response = 'hello' WHERE webhook_id = $1`, [webhookId]);
    await api.database.query(
      `INSERT INTO delivery_attempts (delivery_id, number, started_at, duration_ms, response)
       SELECT id, number, now(), 1, 'hello' FROM deliveries, generate_series(1, 2) number WHERE webhook_id = $1`,
      [webhookId],
    );
    const rows = () =>
      api.database.query<{ id: string; body: string }>(
        `SELECT e.id, e.body, e.user_id, d.last_response, array_agg(a.response) AS responses
         FROM deliveries d JOIN events e ON e.id = d.event_id JOIN delivery_attempts a ON a.delivery_id = d.id
         WHERE d.id = ANY ($1) GROUP BY d.id, e.id ORDER BY array_position($1, d.id)`,
        [deliveries],
      );
    await api.database.query(`UPDATE events SET user_id = 'zoe' WHERE account_id = $1`, [client.accountId]);
    const [first, second, third] = (await rows()) as [{ id: string }, { id: string }, { id: string; body: string }];
    await api.database.transact((tx) =>
      replaceBodies(tx, [
        { id: first.id, body: 'one' },
        { id: second.id, body: 'two' },
      ]),
    );
    const gone = { user_id: null, last_response: null, responses: [null, null] };
    expect(await rows()).toEqual([
      { id: first.id, body: 'one', ...gone },
      { id: second.id, body: 'two', ...gone },
      { id: third.id, body: third.body, user_id: 'zoe', last_response: 'hello', responses: ['hello', 'hello'] },
    ]);
  });
});
