import {
  accountsWithUnnumberedEvents,
  numberEvents,
  selectAccountsWithNewEvents,
  selectNextEvents,
} from '../../../src/modules/webhooks/events/event-feed.service.js';
import { deleteOldEvents, FIRST_PLACE } from '../../../src/modules/webhooks/events/webhook-events.service.js';
import { DatabaseService } from '../../../src/platform/database/database.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { reportMeasurement } from '../../support/service/measurements.js';
import { insertDeliveries, insertEvents } from '../../support/state/inserted-rows.js';
import { costOf } from '../../support/state/statement-cost.js';

/** Sends nothing. */
const api = useService({ ROLES: 'api' });
const HOOK = { url: 'http://127.0.0.1:9/', events: ['recording.failed'] };

let client: ApiClient;
let other: ApiClient;

beforeEach(async () => {
  await api.database.query('DELETE FROM events');
  [client, other] = [await api.account(), await api.account()];
});

/** Committed events without numbers, one after another, each with the name of its body. */
async function insert(owner: ApiClient, ...names: string[]): Promise<void> {
  for (const name of names) await insertEvents(api, owner, { kind: `'recording.accepted'`, body: `'${name}'` });
}

const sequences = async ({ accountId }: ApiClient): Promise<unknown[]> =>
  await api.database.query('SELECT body, sequence::int FROM events WHERE account_id = $1 ORDER BY position', [
    accountId,
  ]);

describe('the numbers of events', () => {
  it('follow the order in which they were inserted, from 1 in each account, without a gap', async () => {
    await insert(client, 'a', 'b', 'c');
    await insert(other, 'x');
    const unnumbered = async (count: number) => (await accountsWithUnnumberedEvents(api.database, count)).toSorted();
    expect(await unnumbered(10)).toEqual([client.accountId, other.accountId].toSorted());
    expect(await unnumbered(1)).toHaveLength(1);
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
    expect(await unnumbered(10)).toEqual([]);
    const last = await api.database.query('SELECT last::int FROM event_sequences WHERE account_id = ANY ($1)', [both]);
    expect(last).toEqual(expect.arrayContaining([{ last: 4 }, { last: 1 }]));
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

  it('has a body as large as a page when it comes first, and what does not fit when it comes next', async () => {
    await insertEvents(api, client, { kind: `'recording.accepted'`, body: `repeat('x', 1200000)` }, 2);
    await numberEvents(api.database, [client.accountId], 10);
    const { accountId } = client;
    const readAfter = async (after: number) =>
      (await selectNextEvents(api.app.get(DatabaseService), [{ accountId, after }], 10)).map(
        ({ body }) => body?.length ?? null,
      );
    expect(await readAfter(0)).toEqual([1_200_000, null]);
    expect(await readAfter(1)).toEqual([1_200_000]);
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
  it('that wait for a delivery cost the same however many there are', async () => {
    const { id } = (await client.post('/v1/webhooks', HOOK).expect(201)).body;
    const created = `now() - interval '90 days' + i * interval '1 second'`;
    await insertDeliveries(api, client, id, { created_at: created }, 20_000);
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
    // Those of which the webhook has been sent what it was to get are deleted, as many as one round looks at.
    await api.database.query(
      `UPDATE deliveries SET status = 'delivered', next_attempt_at = NULL WHERE webhook_id = $1`,
      [id],
    );
    expect(await deleteOldEvents(database, 2, after, 200)).toMatchObject({ scanned: 200, deleted: 200 });
  });
});
