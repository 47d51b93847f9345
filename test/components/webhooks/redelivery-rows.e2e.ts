import { randomUUID } from 'node:crypto';
import {
  countRedelivery,
  insertMissed,
  insertRedelivery,
  type LockedRedelivery,
  lockEnded,
  lockRedelivery,
  reopenEnded,
  selectMissed,
  START,
} from '../../../src/modules/webhooks/deliveries/redeliveries.queries.js';
import type { Tx } from '../../../src/platform/database/database.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { checkRows } from '../../support/check-rows.js';
import { insertDeliveries, insertEvents, type SqlColumns } from '../../support/state/inserted-rows.js';

const KIND = 'recording.failed';
const HOOK = { url: 'http://127.0.0.1:9/', events: [KIND] };
const at = (time: string): string => `2026-11-05T${time}Z`;

/** Sends nothing. */
const api = useService({ ROLES: 'api' });
let client: ApiClient;
let webhookId: string;
let job: LockedRedelivery;

beforeEach(async () => {
  client = await api.account();
  webhookId = await createWebhook();
  await setWebhook(`created_at = '2026-01-01'`);
  job = {
    webhookId,
    accountId: client.accountId,
    status: 'failed',
    createdFrom: at('06:00:00'),
    createdUntil: at('18:00:00'),
    startedAt: '2026-11-10T00:00:00Z',
    phase: 'deliveries',
    ...START,
  };
});

const transact = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => api.database.transact(work);
const createWebhook = async (): Promise<string> => (await client.post('/v1/webhooks', HOOK).expect(201)).body.id;
const setWebhook = (assignment: string) =>
  api.database.query(`UPDATE webhooks SET ${assignment} WHERE id = $1`, [webhookId]);
const idsOf = (rows: { id: string }[]): string[] => rows.map(({ id }) => id);
const ascending = (ids: string[]) => ids.toSorted() as [string, string, string];

async function addEvent(time: string, columns: SqlColumns = {}, owner = client): Promise<string> {
  const [id = ''] = await insertEvents(api, owner, { created_at: `'${time}'::timestamptz`, ...columns });
  return id;
}

const addDeliveries = (time: string, columns: SqlColumns = {}, count = 1): Promise<string[]> => {
  const ended = { status: `'failed'`, updated_at: `'2026-11-06'::timestamptz`, attempts: '3', ...columns };
  return insertDeliveries(api, client, webhookId, { created_at: `'${time}'::timestamptz`, ...ended }, count);
};

async function addDelivery(time: string, columns: SqlColumns = {}): Promise<string> {
  return (await addDeliveries(time, columns))[0] as string;
}

const logOf = async (id: string): Promise<Record<string, unknown>[]> =>
  await api.database.query(
    `SELECT number, to_char(started_at AT TIME ZONE 'UTC', 'HH24:MI') AS started, status, error, reason, duration_ms,
       response FROM delivery_attempts WHERE delivery_id = $1 ORDER BY number`,
    [id],
  );

const LAST = {
  last_attempt_at: `'${at('12:34:00')}'::timestamptz`,
  last_status: '204',
  last_duration_ms: '77',
  last_response: `'ok'`,
};

describe('a delivery that is sent again', () => {
  it('has the attempt that delivered it in its log', () =>
    checkRows<[what: string, last: SqlColumns, logged: object]>(
      [
        ['of which all is known', LAST, { started: '12:34', status: 204, duration_ms: 77, response: 'ok' }],
        ['of an earlier release', {}, { started: '09:08', status: null, duration_ms: 0, response: null }],
      ],
      async (_, last, logged) => {
        const delivered = { status: `'delivered'`, updated_at: `'${at('09:08:00')}'::timestamptz` };
        const id = await addDelivery(at('07:00:00'), { ...delivered, ...last });
        await transact((tx) => reopenEnded(tx, [id]));
        expect(await logOf(id)).toEqual([{ number: 3, error: null, reason: null, ...logged }]);
        const [row] = await api.database.query('SELECT status FROM deliveries WHERE id = $1', [id]);
        expect(row).toEqual({ status: 'pending' });
      },
    ));

  it('has no attempt added to its log when it had failed, and of the log the last 30', async () => {
    const [id, other] = (await addDeliveries(at('07:00:00'), { ...LAST, attempts: '33' }, 2)) as [string, string];
    await api.database.query(
      `INSERT INTO delivery_attempts (delivery_id, number, started_at, duration_ms)
       SELECT $1::uuid, number, now(), 1 FROM generate_series(1, 33) number UNION ALL SELECT $2, 1, now(), 1`,
      [id, other],
    );
    await transact((tx) => reopenEnded(tx, [id]));
    expect((await logOf(id)).map(({ number }) => number)).toEqual(Array.from({ length: 30 }, (__, i) => i + 4));
    expect(await logOf(other)).toHaveLength(1);
  });

  it('comes in its place: one interval after the one before it, by time and id', async () => {
    const later = await addDelivery(at('08:00:00'));
    const [first, second] = ascending(await addDeliveries(at('07:00:00'), {}, 2));
    await transact((tx) => reopenEnded(tx, [later, second, first], { startSeconds: 100, intervalSeconds: 10 }));
    const rows = await api.database.query(
      `SELECT id, round(extract(epoch FROM next_attempt_at - updated_at))::int AS seconds FROM deliveries
       WHERE webhook_id = $1 ORDER BY next_attempt_at`,
      [webhookId],
    );
    expect(rows).toEqual([first, second, later].map((id, i) => ({ id, seconds: 100 + 10 * i })));
  });
});

describe('a batch of those that have ended', () => {
  const next = (changes: Partial<LockedRedelivery> = {}, count = 10) =>
    transact((tx) => lockEnded(tx, { ...job, ...changes }, count));

  it('has those with the status, from the first instant to before the last, that ended before it began', async () => {
    const first = await addDelivery(at('06:00:00'));
    const last = await addDelivery(at('17:59:59.999999'));
    for (const time of ['05:59:59.999999', '18:00:00']) await addDelivery(at(time));
    await addDelivery(at('07:00:00'), { updated_at: `'${job.startedAt}'::timestamptz` });
    const delivered = await addDelivery(at('07:00:00'), { status: `'delivered'` });
    expect(idsOf(await next())).toEqual([first, last]);
    expect(idsOf(await next({ status: 'delivered' }))).toEqual([delivered]);
    expect(idsOf(await next({ status: null }))).toEqual([first, last]);
  });

  it('goes on behind the last one, to the microsecond and by id, and waits for none that another holds', async () => {
    const [first, second, third] = ascending(await addDeliveries(at('07:00:00.123456'), {}, 3));
    const later = await addDelivery(at('07:00:00.123457'));
    const begun = await next({}, 2);
    expect(begun).toEqual([first, second].map((id) => ({ at: '2026-11-05 07:00:00.123456+00', id })));
    const place = { afterAt: begun[1]?.at ?? '', afterId: begun[1]?.id ?? '' };
    expect(idsOf(await next(place))).toEqual([third, later]);
    await transact(async (tx) => {
      await tx.query('SELECT 1 FROM deliveries WHERE id = $1 FOR NO KEY UPDATE', [third]);
      expect(idsOf(await next(place))).toEqual([later]);
    });
  });
});

describe('missed events', () => {
  const missed = (changes: Partial<LockedRedelivery> = {}, count = 10) =>
    transact((tx) => selectMissed(tx, { ...job, ...changes }, count));

  it('are those of the account, the days and the types of the webhook that have no delivery to it', async () => {
    const first = await addEvent(at('06:00:00'));
    const last = await addEvent(at('17:59:59.999999'));
    const elsewhere = await addEvent(at('08:00:00'));
    const ofOther = { ...job, webhookId: await createWebhook() };
    await transact((tx) => insertMissed(tx, ofOther, [{ id: randomUUID(), eventId: elsewhere }]));
    for (const time of ['05:59:59.999999', '18:00:00']) await addEvent(at(time));
    await addEvent(at('07:00:00'), { kind: `'recording.transcribed'` });
    await addEvent(at('07:00:00'), {}, await api.account());
    await addDelivery(at('07:00:00'));
    const count = (status: LockedRedelivery['status']) =>
      transact((tx) => countRedelivery(tx, { ...job, status }, [KIND]));
    expect(await missed()).toEqual({ eventIds: [first, elsewhere, last], last: null });
    expect([await count('failed'), await count('delivered'), await count(null)]).toEqual([1, 0, 4]);
    for (const [created, left] of [
      ['08:00:00', [elsewhere, last]],
      ['08:00:00.000001', [last]],
    ] as const) {
      await setWebhook(`created_at = '${at(created)}'`);
      expect([(await missed()).eventIds, await count('missed')]).toEqual([left, left.length]);
    }
  });

  it('come in batches, in the order of time and id, each behind the last one', async () => {
    const time = `'${at('07:00:00.123456')}'::timestamptz`;
    const ids = ascending(await insertEvents(api, client, { created_at: time }, 3));
    const begun = await missed({}, 2);
    const last = { at: '2026-11-05 07:00:00.123456+00', id: ids[1] };
    expect(begun).toEqual({ eventIds: ids.slice(0, 2), last });
    expect(await missed({ afterAt: last.at, afterId: last.id }, 2)).toEqual({ eventIds: [ids[2]], last: null });
  });

  it('are looked for among 10,000 events at a time', async () => {
    const columns = {
      kind: `'recording.accepted'`,
      created_at: `'${at('07:00:00')}'::timestamptz + make_interval(secs => i)`,
    };
    await insertEvents(api, client, columns, 10_000);
    const { eventIds, last } = await missed();
    expect([eventIds, last?.at]).toEqual([[], '2026-11-05 09:46:40+00']);
    expect(await missed({ afterAt: last?.at ?? '', afterId: last?.id ?? '' })).toEqual({ eventIds: [], last: null });
  });

  it('get one delivery each, of their time and due at once, if they are still there', async () => {
    const eventId = await addEvent(at('07:00:00'));
    const [id, gone] = [randomUUID(), randomUUID()];
    await transact((tx) =>
      insertMissed(tx, job, [
        { id, eventId },
        { id: gone, eventId: randomUUID() },
      ]),
    );
    await transact((tx) => insertMissed(tx, job, [{ id: gone, eventId }]));
    const rows = await api.database.query(
      `SELECT id, account_id, event_id, status, attempts, created_at, next_attempt_at <= now() AS due,
         updated_at > now() - interval '1 minute' AS now FROM deliveries WHERE webhook_id = $1`,
      [webhookId],
    );
    const row = { id, account_id: client.accountId, event_id: eventId, status: 'pending', attempts: 0 };
    expect(rows).toEqual([{ ...row, created_at: new Date(at('07:00:00')), due: true, now: true }]);
  });
});

describe('a redelivery in progress', () => {
  it('is one of its webhook, and left to the process that works on it', async () => {
    const begin = (id = webhookId) =>
      transact((tx) => insertRedelivery(tx, { webhookId: id, accountId: client.accountId }));
    const lock = () => transact((tx) => lockRedelivery(tx, webhookId));
    expect([await begin(), await begin(), await begin(await createWebhook())]).toEqual([true, false, true]);
    await transact(async (tx) => {
      expect(await lockRedelivery(tx, webhookId)).toMatchObject({ webhookId, ...START, phase: 'deliveries' });
      expect(await lock()).toBeNull();
    });
    expect(await lock()).not.toBeNull();
  });
});
