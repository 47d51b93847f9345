import { v7 as uuidv7 } from 'uuid';
import { selectKeyAccess, selectLiveKeys } from '../../src/access/accounts.queries.js';
import {
  addRequestErrors,
  deleteOldRequestErrors,
  type RequestError,
  selectRequestErrors,
  trimRequestErrors,
} from '../../src/modules/account/request-errors.service.js';
import { AccountService } from '../../src/modules/account/account.service.js';
import { addKeyUses } from '../../src/modules/api-keys/api-key-credentials.service.js';
import { ListRecordingsQuery } from '../../src/modules/recordings/recordings.dto.js';
import { selectPageOfUser } from '../../src/modules/recordings/recording-page.queries.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { useService } from '../../src/testing/test-service.js';

const service = useService({ ROLES: 'api' });
let client: ApiClient;

beforeEach(async () => {
  client = await service.account();
});

const query = <Row>(sql: string, parameters: unknown[]) => service.database.query<Row>(sql, parameters);
const newKey = async (scopes = ['recordings:read']): Promise<string> =>
  (await service.key(client, scopes)).credentials.id;
const set = async (id: string, change: string): Promise<void> =>
  void (await query(`UPDATE api_keys SET ${change} WHERE id = $1`, [id]));

describe('the keys that keep something open', () => {
  it('are those that are not revoked, have not expired, hold the scope, and belong to an active account', async () => {
    const [live, later, revoked, expired, weak] = [
      await newKey(),
      await newKey(),
      await newKey(),
      await newKey(),
      await newKey(['recordings:write']),
    ];
    // Nobody asks for this one.
    await newKey();
    await set(later, `expires_at = now() + interval '1 hour'`);
    await set(revoked, 'revoked_at = now()');
    await set(expired, `expires_at = now() - interval '1 second'`);
    const asked = [live, later, revoked, expired, weak, uuidv7()];
    const found = async () => (await selectLiveKeys(service.database, asked, 'recordings:read')).toSorted();
    expect(await found()).toEqual([live, later].toSorted());
    await query(`UPDATE accounts SET status = 'suspended' WHERE id = $1`, [client.accountId]);
    expect(await found()).toEqual([]);
  });

  it('stand behind a link while they exist, are valid and belong to its account', async () => {
    const access = async (id: string) => (await selectKeyAccess(service.database, client.accountId, id))?.keyIsValid;
    const [live, later, revoked, expired] = [await newKey(), await newKey(), await newKey(), await newKey()];
    await set(later, `expires_at = now() + interval '1 hour'`);
    await set(revoked, 'revoked_at = now()');
    await set(expired, `expires_at = now() - interval '1 second'`);
    expect(await Promise.all([live, later, revoked, expired, uuidv7()].map(access))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    const other = await service.account();
    expect(await selectKeyAccess(service.database, other.accountId, live)).toEqual({
      suspended: false,
      keyIsValid: false,
    });
    await query(`UPDATE accounts SET status = 'suspended' WHERE id = $1`, [client.accountId]);
    expect(await selectKeyAccess(service.database, client.accountId, live)).toEqual({
      suspended: true,
      keyIsValid: true,
    });
    expect(await selectKeyAccess(service.database, uuidv7(), live)).toBeNull();
  });
});

describe('an account', () => {
  const create = (email: string, options = {}) =>
    service.app
      .get(AccountService)
      .create({ name: 'Acme', email, plan: 'free', rateLimit: null, burstLimit: null }, options);

  it('has an e-mail address that no other has, in whatever case, unless the operator allows it', async () => {
    const email = `Ops-${uuidv7()}@Example.com`;
    const first = await create(email);
    const known = `The account ${first.id} ("Acme") already has the e-mail address ${email}.`;
    for (const same of [email, email.toLowerCase(), email.toUpperCase()]) {
      await expect(create(same)).rejects.toThrow(known);
    }
    await create(email.toLowerCase(), { allowDuplicateEmail: true });
    // The oldest is named.
    await expect(create(email)).rejects.toThrow(known);
    await create(`x${email}`);
  });

  it('stands once in the list of all, the oldest first', async () => {
    const listed: string[] = [];
    for await (const page of service.app.get(AccountService).pages()) listed.push(...page.map(({ id }) => id));
    expect(listed).toEqual([...new Set(listed)].toSorted());
    expect(listed).toContain(client.accountId);
  });
});

describe('an API key', () => {
  const read = async (id: string) =>
    (
      await query<{ uses: number; used: Date | null; updated: Date; created: Date }>(
        `SELECT usage_count::int AS uses, last_used_at AS used, updated_at AS updated, created_at AS created
         FROM api_keys WHERE id = $1`,
        [id],
      )
    )[0];

  it('was last used at the latest time that any process tells, and by all of them together', async () => {
    const [a, b, unused] = [await newKey(), await newKey(), await newKey()];
    const [early, late] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-01T00:00:05Z')];
    const add = (id: string, count: number, lastUsedAt: Date) =>
      addKeyUses(service.database, new Map([[id, { count, lastUsedAt }]]));
    await add(a, 2, late);
    await add(a, 3, early);
    await addKeyUses(
      service.database,
      new Map([
        [b, { count: 1, lastUsedAt: early }],
        [a, { count: 4, lastUsedAt: early }],
      ]),
    );
    expect(await read(a)).toMatchObject({ uses: 9, used: late });
    expect(await read(b)).toMatchObject({ uses: 1, used: early });
    expect(await read(unused)).toMatchObject({ uses: 0, used: null });
  });

  it('was updated when it was revoked', async () => {
    const id = await newKey();
    await set(id, `created_at = now() - interval '1 hour', updated_at = now() - interval '1 hour'`);
    await client.delete(`/v1/account/api-keys/${id}`).expect(204);
    expect(Date.now() - ((await read(id))?.updated.getTime() ?? 0)).toBeLessThan(600_000);
  });
});

describe('refused requests that several processes write', () => {
  const group = (second: number, changes: Partial<RequestError> = {}): RequestError => ({
    accountId: client.accountId,
    day: new Date().toISOString().slice(0, 10),
    operation: 'GET /v1/a',
    status: 400,
    code: '2001',
    field: '',
    type: 'ValidationError',
    count: 2,
    firstAt: new Date(Date.UTC(2026, 0, 1, 0, 0, second)),
    lastAt: new Date(Date.UTC(2026, 0, 1, 0, 0, second + 1)),
    message: `m${second}`,
    requestIds: [`${second}b`, `${second}a`],
    ...changes,
  });

  it('have the first and the last time of all, and the last message and ids, in whatever order they come', async () => {
    const add = (...groups: RequestError[]) => addRequestErrors(service.database, groups);
    expect(await add(group(20))).toEqual([client.accountId]);
    expect(await add(group(10))).toEqual([]);
    expect(await add(group(30))).toEqual([]);
    expect(await selectRequestErrors(service.database, client.accountId, { days: 1, limit: 10 })).toEqual([
      expect.objectContaining({
        count: 6,
        firstAt: group(10).firstAt,
        lastAt: group(30).lastAt,
        message: 'm30',
        requestIds: ['30b', '30a', '20b', '20a', '10b'],
      }),
    ]);
  });

  it('are new groups of their account where anything differs, and none of one that is gone', async () => {
    await addRequestErrors(service.database, [group(1)]);
    for (const changes of [{ operation: 'x' }, { status: 401 }, { code: 'x' }, { field: 'x' }]) {
      expect(await addRequestErrors(service.database, [group(1, changes)])).toEqual([client.accountId]);
    }
    expect(await addRequestErrors(service.database, [group(1, { accountId: uuidv7() }), group(1)])).toEqual([]);
    expect(await selectRequestErrors(service.database, client.accountId, { days: 1, limit: 9 })).toHaveLength(5);
    expect(await selectRequestErrors(service.database, client.accountId, { days: 1, limit: 3 })).toHaveLength(3);
  });

  it('are trimmed to those of each day that were seen last, and deleted when their days have passed', async () => {
    const other = await service.account();
    const dayBack = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
    const codes = async () =>
      (
        await query<{ code: string }>('SELECT code FROM request_errors WHERE account_id = ANY ($1) ORDER BY code', [
          [client.accountId, other.accountId],
        ])
      ).map(({ code }) => code);
    await query('DELETE FROM request_errors', []);
    await addRequestErrors(service.database, [
      group(2, { code: 'second' }),
      group(3, { code: 'third' }),
      group(1, { code: 'first' }),
      group(1, { code: 'days ago', day: dayBack(8) }),
      group(1, { code: 'of the other', accountId: other.accountId, day: dayBack(9) }),
      group(2, { code: 'of the other 2', accountId: other.accountId, day: dayBack(9) }),
      group(3, { code: 'of the other 3', accountId: other.accountId, day: dayBack(9) }),
    ]);
    await trimRequestErrors(service.database, [client.accountId], 2);
    const others = ['of the other', 'of the other 2', 'of the other 3'];
    expect(await codes()).toEqual(['days ago', ...others, 'second', 'third']);
    const remove = () => deleteOldRequestErrors(service.database, 8, 2);
    expect([await remove(), await remove(), await remove()]).toEqual([2, 1, 0]);
    expect(await codes()).toEqual(['days ago', 'second', 'third']);
    const shown = async (days: number) =>
      (await selectRequestErrors(service.database, client.accountId, { days, limit: 9 })).map(({ code }) => code);
    expect(await shown(8)).toEqual(['third', 'second']);
    expect(await shown(9)).toEqual(['third', 'second', 'days ago']);
  });
});

describe('the recordings of an end user', () => {
  async function insert(at: string, status = 'processing', userId = 'ada', accountId = client.accountId) {
    const id = uuidv7();
    await query(
      `INSERT INTO recordings (id, account_id, user_id, original_filename, object_key, bucket, duration_ms,
         file_size_bytes, audio_format, upload_source, status, created_at, updated_at, processed_at, features)
       VALUES ($2, $1, $3, 'a.wav', $2::uuid::text, 'b', 1, 1, 'wav', 'api', $4, $5, $5,
         CASE WHEN $4 = 'transcribed' THEN now() END, CASE WHEN $4 = 'transcribed' THEN '{}'::jsonb END)`,
      [accountId, id, userId, status, at],
    );
    return id;
  }
  const page = async (changes: Partial<ListRecordingsQuery> = {}) => {
    const asked = Object.assign(new ListRecordingsQuery(), changes);
    const { items, total } = await selectPageOfUser(service.database, client.accountId, 'ada', asked);
    return { ids: items.map(({ id }) => id), total };
  };

  it('are hers in this account alone, the newest first, those of one moment by their ids', async () => {
    const noon = '2026-01-02T12:00:00Z';
    const ids = [await insert('2026-01-01T00:00:00Z'), await insert(noon), await insert(noon), await insert(noon)];
    await insert(noon, 'processing', 'eve');
    await insert(noon, 'processing', 'ada', (await service.account()).accountId);
    const order = [...ids.slice(1).toSorted().toReversed(), ids[0]];
    expect(await page()).toEqual({ ids: order, total: 4 });
    expect(await page({ limit: 3 })).toEqual({ ids: order.slice(0, 3), total: 4 });
    expect(await page({ limit: 3, page: 1 })).toEqual({ ids: order.slice(3), total: 4 });
    expect(await page({ limit: 3, page: 2 })).toEqual({ ids: [], total: 4 });
  });

  it('can be narrowed to UTC days, both inclusive, and to a status', async () => {
    const midnight = await insert('2026-01-02T00:00:00Z');
    const last = await insert('2026-01-02T23:59:59.999Z', 'transcribed');
    const next = await insert('2026-01-03T00:00:00Z');
    const before = await insert('2026-01-01T23:59:59.999Z');
    expect(await page({ date_from: '2026-01-02' })).toEqual({ ids: [next, last, midnight], total: 3 });
    expect(await page({ date_to: '2026-01-02' })).toEqual({ ids: [last, midnight, before], total: 3 });
    const day = { date_from: '2026-01-02', date_to: '2026-01-02' };
    expect(await page(day)).toEqual({ ids: [last, midnight], total: 2 });
    expect(await page({ ...day, status: 'transcribed' })).toEqual({ ids: [last], total: 1 });
  });
});
