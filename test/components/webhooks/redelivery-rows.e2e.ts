import { randomUUID } from 'node:crypto';
import {
  countRedelivery,
  insertMissed,
  insertRedelivery,
  type LockedRedelivery,
  lockEnded,
  lockRedelivery,
  moveRedelivery,
  reopenEnded,
  selectMissed,
  START,
} from '../../../src/modules/webhooks/deliveries/redeliveries.queries.js';
import type { Tx } from '../../../src/platform/database/database.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';

const KIND = 'recording.failed';
const HOOK = { url: 'http://127.0.0.1:9/', events: [KIND] };
const DAY = '2026-11-05';
const at = (time: string): string => `${DAY}T${time}Z`;

/** Sends nothing. */
const api = useService({ ROLES: 'api' });
let client: ApiClient;
let webhookId: string;
let job: LockedRedelivery;

beforeEach(async () => {
  client = await api.account();
  webhookId = (await client.post('/v1/webhooks', HOOK).expect(201)).body.id;
  await api.database.query(`UPDATE webhooks SET created_at = '2026-01-01' WHERE id = $1`, [webhookId]);
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

async function addEvent(time: string, { kind = KIND, accountId = client.accountId, id = randomUUID() } = {}) {
  await api.database.query(
    `INSERT INTO events (id, account_id, kind, recording_id, run, body, created_at)
     VALUES ($1, $2, $3, gen_random_uuid(), 1, '{}', $4)`,
    [id, accountId, kind, time],
  );
  return id;
}

/** A delivery of an event of this time. @param columns that differ, as SQL literals. */
async function addDelivery(time: string, columns: Record<string, string> = {}, id = randomUUID()): Promise<string> {
  const eventId = await addEvent(time);
  const row: Record<string, string> = { status: `'failed'`, updated_at: `'2026-11-06'`, attempts: '3', ...columns };
  await api.database.query(
    `INSERT INTO deliveries (id, account_id, event_id, webhook_id, created_at, ${Object.keys(row).join()})
     VALUES ($1, $2, $3, $4, $5, ${Object.values(row).join()})`,
    [id, client.accountId, eventId, webhookId, time],
  );
  return id;
}

const logOf = async (id: string): Promise<Record<string, unknown>[]> =>
  await api.database.query(
    `SELECT number, to_char(started_at AT TIME ZONE 'UTC', 'HH24:MI') AS started, status, error, reason, duration_ms,
       response FROM delivery_attempts WHERE delivery_id = $1 ORDER BY number`,
    [id],
  );

const pending = async (): Promise<string[]> =>
  (
    await api.database.query<{ id: string }>(
      `SELECT id FROM deliveries WHERE webhook_id = $1 AND status = 'pending' ORDER BY created_at, id`,
      [webhookId],
    )
  ).map(({ id }) => id);

const LAST = {
  last_attempt_at: `'${at('12:34:00')}'`,
  last_status: '204',
  last_duration_ms: '77',
  last_response: `'ok'`,
};

describe('a delivery that is sent again', () => {
  it.each([
    ['of which all is known', LAST, { started: '12:34', status: 204, duration_ms: 77, response: 'ok' }],
    ['of an earlier release', {}, { started: '09:08', status: null, duration_ms: 0, response: null }],
  ])('has the attempt that delivered it in its log: %s', async (_, last, logged) => {
    const id = await addDelivery(at('07:00:00'), { status: `'delivered'`, updated_at: `'${at('09:08:00')}'`, ...last });
    await transact((tx) => reopenEnded(tx, [id]));
    expect(await logOf(id)).toEqual([{ number: 3, error: null, reason: null, ...logged }]);
    expect(await pending()).toEqual([id]);
  });

  it('has no attempt added to its log when it had failed, and of the log the last 30', async () => {
    const id = await addDelivery(at('07:00:00'), { ...LAST, attempts: '33' });
    await api.database.query(
      `INSERT INTO delivery_attempts (delivery_id, number, started_at, duration_ms)
       SELECT $1, number, now(), 1 FROM generate_series(1, 33) number`,
      [id],
    );
    const other = await addDelivery(at('07:00:00'), { attempts: '33' });
    await api.database.query(
      'INSERT INTO delivery_attempts (delivery_id, number, started_at, duration_ms) VALUES ($1, 1, now(), 1)',
      [other],
    );
    await transact((tx) => reopenEnded(tx, [id]));
    expect((await logOf(id)).map(({ number }) => number)).toEqual(Array.from({ length: 30 }, (__, i) => i + 4));
    expect(await logOf(other)).toHaveLength(1);
  });

  it('comes in its place: one interval after the one before it, by time and id', async () => {
    const later = await addDelivery(at('08:00:00'));
    const ids = [randomUUID(), randomUUID()].toSorted();
    for (const id of ids.toReversed()) await addDelivery(at('07:00:00'), {}, id);
    const pace = { startSeconds: 100, intervalSeconds: 10 };
    await transact((tx) => reopenEnded(tx, [later, ...ids.toReversed()], pace));
    const rows = await api.database.query(
      `SELECT id, round(extract(epoch FROM next_attempt_at - updated_at))::int AS seconds FROM deliveries
       WHERE webhook_id = $1 ORDER BY next_attempt_at`,
      [webhookId],
    );
    expect(rows).toEqual([ids[0], ids[1], later].map((id, i) => ({ id, seconds: 100 + 10 * i })));
  });
});

describe('a batch of those that have ended', () => {
  const next = (changes: Partial<LockedRedelivery> = {}, count = 10) =>
    transact((tx) => lockEnded(tx, { ...job, ...changes }, count));

  it('has those with the status, from the first instant to before the last, that ended before it began', async () => {
    const first = await addDelivery(at('06:00:00'));
    const last = await addDelivery(at('17:59:59.999999'));
    await addDelivery(at('05:59:59.999999'));
    await addDelivery(at('18:00:00'));
    await addDelivery(at('07:00:00'), { updated_at: `'${job.startedAt}'` });
    const delivered = await addDelivery(at('07:00:00'), { status: `'delivered'` });
    expect((await next()).map(({ id }) => id)).toEqual([first, last]);
    expect((await next({ status: 'delivered' })).map(({ id }) => id)).toEqual([delivered]);
    expect((await next({ status: null })).map(({ id }) => id)).toEqual([first, last]);
  });

  it('goes on behind the last one, to the microsecond and by id', async () => {
    const ids = [randomUUID(), randomUUID(), randomUUID()].toSorted();
    for (const id of ids.toReversed()) await addDelivery(at('07:00:00.123456'), {}, id);
    const later = await addDelivery(at('07:00:00.123457'));
    const begun = await next({}, 2);
    expect(begun).toEqual(ids.slice(0, 2).map((id) => ({ at: '2026-11-05 07:00:00.123456+00', id })));
    const [, { at: afterAt, id: afterId } = { at: '', id: '' }] = begun;
    expect((await next({ afterAt, afterId }, 10)).map(({ id }) => id)).toEqual([ids[2], later]);
  });

  it('waits for none that another transaction holds', async () => {
    const [held, free] = [await addDelivery(at('07:00:00')), await addDelivery(at('08:00:00'))];
    await transact(async (tx) => {
      await tx.query('SELECT 1 FROM deliveries WHERE id = $1 FOR NO KEY UPDATE', [held]);
      expect((await next()).map(({ id }) => id)).toEqual([free]);
    });
  });
});

describe('missed events', () => {
  const missed = (changes: Partial<LockedRedelivery> = {}, count = 10) =>
    transact((tx) => selectMissed(tx, { ...job, ...changes }, count));

  it('are those of the account, the days and the types of the webhook that have no delivery to it', async () => {
    const stranger = await api.account();
    const first = await addEvent(at('06:00:00'));
    const last = await addEvent(at('17:59:59.999999'));
    const elsewhere = await addEvent(at('08:00:00'));
    const { id: other } = (await client.post('/v1/webhooks', HOOK).expect(201)).body;
    await transact((tx) => insertMissed(tx, { ...job, webhookId: other }, [{ id: randomUUID(), eventId: elsewhere }]));
    await addEvent(at('05:59:59.999999'));
    await addEvent(at('18:00:00'));
    await addEvent(at('07:00:00'), { kind: 'recording.transcribed' });
    await addEvent(at('07:00:00'), { accountId: stranger.accountId });
    await addDelivery(at('07:00:00'));
    expect(await missed()).toEqual({ eventIds: [first, elsewhere, last], last: null });
    const count = (status: LockedRedelivery['status']) =>
      transact((tx) => countRedelivery(tx, { ...job, status }, [KIND]));
    expect([await count('missed'), await count('failed'), await count('delivered'), await count(null)]).toEqual([
      3, 1, 0, 4,
    ]);
    await api.database.query('UPDATE webhooks SET created_at = $2 WHERE id = $1', [webhookId, at('08:00:00')]);
    expect((await missed()).eventIds).toEqual([elsewhere, last]);
    expect(await count('missed')).toBe(2);
    await api.database.query('UPDATE webhooks SET created_at = $2 WHERE id = $1', [webhookId, at('08:00:00.000001')]);
    expect((await missed()).eventIds).toEqual([last]);
    expect(await count('missed')).toBe(1);
  });

  it('come in batches, in the order of time and id, each behind the last one', async () => {
    const ids = [randomUUID(), randomUUID(), randomUUID()].toSorted();
    for (const id of ids.toReversed()) await addEvent(at('07:00:00.123456'), { id });
    const begun = await missed({}, 2);
    expect(begun).toEqual({
      eventIds: ids.slice(0, 2),
      last: { at: '2026-11-05 07:00:00.123456+00', id: ids[1] },
    });
    expect(await missed({ afterAt: begun.last?.at ?? '', afterId: begun.last?.id ?? '' }, 2)).toEqual({
      eventIds: [ids[2]],
      last: null,
    });
  });

  it('are looked for among 10,000 events at a time', async () => {
    await api.database.query(
      `INSERT INTO events (id, account_id, kind, body, created_at)
       SELECT gen_random_uuid(), $1, 'recording.accepted', '{}', $2::timestamptz + make_interval(secs => i)
       FROM generate_series(1, 10000) i`,
      [client.accountId, at('07:00:00')],
    );
    const found = await missed();
    expect(found).toMatchObject({ eventIds: [], last: { at: '2026-11-05 09:46:40+00' } });
    expect(await missed({ afterAt: found.last?.at ?? '', afterId: found.last?.id ?? '' })).toEqual({
      eventIds: [],
      last: null,
    });
  });

  it('get one delivery each, if they are still there', async () => {
    const eventId = await addEvent(at('07:00:00'));
    const [id, gone] = [randomUUID(), randomUUID()];
    const both = [
      { id, eventId },
      { id: gone, eventId: randomUUID() },
    ];
    await transact((tx) => insertMissed(tx, job, both));
    await transact((tx) => insertMissed(tx, job, [{ id: gone, eventId }]));
    const rows = await api.database.query(
      `SELECT id, account_id, event_id, webhook_id, status, attempts, created_at, next_attempt_at <= now() AS due,
         updated_at > now() - interval '1 minute' AS now FROM deliveries WHERE webhook_id = $1`,
      [webhookId],
    );
    const times = { created_at: new Date(at('07:00:00')), due: true, now: true };
    expect(rows).toEqual([
      {
        id,
        account_id: client.accountId,
        event_id: eventId,
        webhook_id: webhookId,
        status: 'pending',
        attempts: 0,
        ...times,
      },
    ]);
  });
});

describe('a redelivery in progress', () => {
  const begin = (fields: object) =>
    transact((tx) => insertRedelivery(tx, { webhookId, accountId: client.accountId, ...fields }));
  const lock = () => transact((tx) => lockRedelivery(tx, webhookId));

  it.each([
    [{}, { status: null, phase: 'deliveries', createdFrom: '-infinity', createdUntil: 'infinity' }],
    [{ status: 'delivered' }, { status: 'delivered', phase: 'deliveries' }],
    [{ status: 'missed' }, { status: 'missed', phase: 'events' }],
    [
      { status: 'failed', date_from: DAY, date_to: '2026-11-06' },
      { phase: 'deliveries', createdFrom: '2026-11-05 00:00:00+00', createdUntil: '2026-11-07 00:00:00+00' },
    ],
  ])('of %j begins before the first row, and there is one', async (fields, expected) => {
    const before = Date.now();
    expect(await begin(fields)).toBe(true);
    expect(await begin({})).toBe(false);
    const begun = await lock();
    expect(begun).toMatchObject({ webhookId, accountId: client.accountId, ...START, ...expected });
    const startedAt = Date.parse(begun?.startedAt ?? '');
    expect(startedAt).toBeGreaterThan(before - 5000);
    expect(startedAt).toBeLessThan(Date.now() + 5000);
  });

  it('keeps its phase and its place to the microsecond, and that of another webhook stays', async () => {
    const { id: other } = (await client.post('/v1/webhooks', HOOK).expect(201)).body;
    await begin({});
    await begin({ webhookId: other });
    const place = { at: '2026-11-05 07:00:00.123456+00', id: randomUUID() };
    await transact((tx) => moveRedelivery(tx, { ...job, phase: 'events' }, place));
    expect(await lock()).toMatchObject({ phase: 'events', afterAt: place.at, afterId: place.id });
    expect(await transact((tx) => lockRedelivery(tx, other))).toMatchObject({ phase: 'deliveries', ...START });
  });

  it('is left to the process that works on it', async () => {
    await begin({});
    await transact(async (tx) => {
      expect(await lockRedelivery(tx, webhookId)).not.toBeNull();
      expect(await lock()).toBeNull();
    });
    expect(await lock()).not.toBeNull();
    expect(await transact((tx) => lockRedelivery(tx, randomUUID()))).toBeNull();
  });
});
