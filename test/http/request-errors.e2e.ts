import { Registry } from 'prom-client';
import { DatabaseService } from '../../src/platform/database/database.service.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { startService, type TestService, useService } from '../../src/testing/test-service.js';
import { expectInvalid } from '../support/http/expect-errors.js';
import { sendMany } from '../support/http/load.js';
import { REQUEST_ERROR } from '../support/http/response-shapes.js';

interface ErrorGroup {
  operation: string;
  status: number;
  type: string;
  code: number | string;
  field: string | null;
  count: number;
  first_at: string;
  last_at: string;
  message: string;
  request_ids: string[];
}

const ERRORS = '/v1/account/errors';

describe('the last errors of an account (D53)', () => {
  let client: ApiClient;

  const service = useService({ ROLES: 'api', ADDRESS_RATE_LIMIT: '6000/6000' });
  const { environment } = service;

  beforeEach(async () => {
    client = await service.account();
  });

  const groups = async (by = client, query = ''): Promise<ErrorGroup[]> =>
    (await by.get(`${ERRORS}${query}`).expect(200)).body.errors as ErrorGroup[];
  /** Once so many requests are counted. */
  const counted = async (count: number, by = client): Promise<ErrorGroup[]> =>
    await eventually(async () => {
      const found = await groups(by);
      return found.reduce((sum, group) => sum + group.count, 0) >= count && found;
    });
  const summary = ({ operation, status, code, field, count }: ErrorGroup): unknown[] => [
    operation,
    status,
    code,
    field,
    count,
  ];

  it('are grouped by operation, status, code and field, the last one first', async () => {
    const weak = await service.key(client, ['recordings:read']);
    await client.get('/v1/recordings?limit=0').expect(400);
    await client.get('/v1/recordings?limit=101').expect(400);
    await client.get('/v1/recordings?status=gone').expect(400);
    await weak.get('/v1/webhooks').expect(403);
    await client.post('/v1/webhooks', { url: 'https://hooks.example.com/', events: ['x'] }).expect(400);
    await client.get('/v1/recordings/no-such-one').expect(404);
    await client.get('/v1/nothing/vns_0123456789').expect(404);
    await client.post('/v1/audio/transcriptions').expect(400);
    await client.get('/v1/account').expect(200);

    const found = await counted(8);
    expect(found.map(summary)).toEqual([
      ['POST /v1/audio/transcriptions', 400, 2002, null, 1],
      ['GET /v1/*', 404, 3001, null, 1],
      ['GET /v1/recordings/{recording_id}', 404, 3001, null, 1],
      ['POST /v1/webhooks', 400, 2001, 'events', 1],
      ['GET /v1/webhooks', 403, 1003, null, 1],
      ['GET /v1/recordings', 400, 2001, 'status', 1],
      ['GET /v1/recordings', 400, 2001, 'limit', 2],
    ]);
    for (const group of found) expect(group).toStrictEqual(REQUEST_ERROR);
  });

  it('hold nothing that was in a path, a query, a header or a body', async () => {
    const secret = client.credentials.secret;
    await client.get(`/v1/recordings/${secret}`).expect(404);
    await client.get(`/v1/${secret}`).expect(404);
    await client.get(`/v1/recordings?status=${secret}`).expect(400);
    await client.get(`/v1/recordings?${secret}=1`).expect(400);
    await client.post('/v1/webhooks', { url: secret, events: [secret], [secret]: 1 }).expect(400);
    await client.post('/v1/webhooks', { url: 'private.example', events: ['recording.failed'] }).expect(400);
    await counted(6);
    const { text } = await client.get(ERRORS).expect(200);
    expect(text).not.toContain(secret);
    expect(text).not.toContain('private.example');
    expect(text).toContain('vns_…');
  });

  it('are those of requests with valid credentials, also of suspended accounts and of access tokens', async () => {
    const { body: token } = await client.post('/v1/account/access-tokens', { identity: 'user-1' }).expect(201);
    await client.get('/v1/account').set('X-Service-API-Secret', 'wrong').expect(401);
    const headers = { Authorization: `Bearer ${token.token}` };
    expect((await fetch(`${service.url}/v1/recordings`, { headers })).status).toBe(403);
    const setStatus = async (status: string): Promise<void> => {
      await service.database.query('UPDATE accounts SET status = $2 WHERE id = $1', [client.accountId, status]);
    };
    await setStatus('suspended');
    await eventually(async () => (await client.get('/v1/webhooks')).status === 403);
    await setStatus('active');
    await eventually(async () => (await client.get('/v1/account')).status === 200);
    const found = await counted(2);
    expect(found.map(({ operation, type }) => [operation, type])).toEqual(
      expect.arrayContaining([
        ['GET /v1/*', 'PermissionError'],
        ['GET /v1/webhooks', 'AccountSuspendedError'],
      ]),
    );
    expect(found.map(({ type }) => type)).not.toContain('AuthenticationError');
  });

  it('are counted exactly by several processes at once, and those at an empty bucket with them', async () => {
    const other = await startService(environment, { ROLES: 'api' });
    const free = await service.account('free');
    const target = (index: number) =>
      index < 100 ? { url: `${[service, other][index % 2]?.url}/v1/recordings?limit=0`, headers: free.headers } : null;
    const answers = await sendMany(target, 30);
    const invalid = answers.filter(({ status }) => status === 400).length;
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(100 - invalid);
    await service.database.query('UPDATE accounts SET plan = $2 WHERE id = $1', [free.accountId, 'enterprise']);
    const found = await eventually(async () => {
      const { status, body } = await free.get(ERRORS);
      const all = (status === 200 ? body.errors : []) as ErrorGroup[];
      return all.reduce((sum, { count }) => sum + count, 0) >= 100 && all;
    });
    const limited = found.find(({ status, operation }) => status === 429 && operation === 'GET /v1/recordings');
    expect([limited?.count, limited?.request_ids.length]).toEqual([100 - invalid, 5]);
    expect(found.find(({ status }) => status === 400)?.count).toBe(invalid);
    await other.close();
  });

  it('are written by a process that stops', async () => {
    const other = await startService(environment, { ROLES: 'api' });
    await client.at(other.url).get('/v1/recordings?limit=0').expect(400);
    await other.close();
    expect((await groups()).map(summary)).toEqual([['GET /v1/recordings', 400, 2001, 'limit', 1]]);
  });

  it('do not keep each other from being written when an account is gone', async () => {
    const gone = await service.account();
    await gone.get('/v1/recordings?limit=0').expect(400);
    await service.database.query('DELETE FROM accounts WHERE id = $1', [gone.accountId]);
    await client.get('/v1/recordings?limit=0').expect(400);
    await counted(1);
  });

  it('are those of the last days that are asked for', async () => {
    await client.get('/v1/recordings?limit=0').expect(400);
    await counted(1);
    const [{ first_at: today } = { first_at: '' }] = await groups();
    await service.database.query(
      `INSERT INTO request_errors SELECT account_id, day - 2, operation, status, code, field, type, 5,
         first_at - interval '2 days', last_at - interval '2 days', 'Earlier.', '{early}'
       FROM request_errors WHERE account_id = $1`,
      [client.accountId],
    );
    const [group, ...others] = await groups();
    expect(others).toEqual([]);
    expect(group).toMatchObject({ count: 6, last_at: today, message: 'limit must be an integer from 1 to 100.' });
    expect([group?.request_ids.length, group?.request_ids.at(-1)]).toEqual([2, 'early']);
    expect(group?.first_at.slice(0, 10)).not.toBe(today.slice(0, 10));
    expect((await groups(client, '?days=2'))[0]).toMatchObject({ count: 1, first_at: today });
    const { body } = await client.get(`${ERRORS}?days=3&limit=1`).expect(200);
    expect(body).toMatchObject({ days: 3, uri: `${ERRORS}?days=3&limit=1`, errors: [{ count: 6 }] });
  });

  it('are not given for other days and limits: 400', async () => {
    for (const query of ['days=0', 'days=31', 'limit=0', 'limit=201', 'days=1&days=2', 'page=1']) {
      expectInvalid(await client.get(`${ERRORS}?${query}`), query.split('=')[0] as string);
    }
  });

  describe('where few kinds are kept, and not for long', () => {
    const small = useService(
      { ROLES: 'api,deliverer', REQUEST_ERROR_GROUPS: '10', REQUEST_ERROR_RETENTION_DAYS: '2', RECONCILE_SECONDS: '1' },
      { environment },
    );
    const dropped = async (of: TestService): Promise<number> => {
      const metric = of.app.get(Registry).getSingleMetric('request_errors_dropped_total');
      return (await metric?.get())?.values[0]?.value ?? 0;
    };

    it('has the last kinds, and counts what it could not tell apart', async () => {
      const there = client.at(small.url);
      const before = await dropped(small);
      await Promise.all(Array.from({ length: 30 }, (_, i) => there.get(`/v1/recordings?early${i}=1`).expect(400)));
      await counted(10, there);
      expect((await dropped(small)) - before).toBeGreaterThan(0);
      for (let i = 0; i < 5; i++) await there.get(`/v1/recordings?late${i}=1`).expect(400);
      const found = await eventually(async () => {
        const all = await groups(there);
        return all.length === 10 && all.filter(({ field }) => field?.startsWith('late')).length === 5 && all;
      });
      expect(found.slice(0, 5).map(({ field }) => field)).toEqual(['late4', 'late3', 'late2', 'late1', 'late0']);
    });

    it('deletes the old ones', async () => {
      await service.database.query(
        `INSERT INTO request_errors SELECT $1, (now() AT TIME ZONE 'UTC')::date - age, 'GET /v1/x', 400, '1', '', 't', 1,
           now(), now(), 'm', '{}' FROM generate_series(1, 4) AS age`,
        [client.accountId],
      );
      const days = async (): Promise<number> =>
        (
          await service.app
            .get(DatabaseService)
            .query(`SELECT FROM request_errors WHERE account_id = $1`, [client.accountId])
        ).length;
      await eventually(async () => (await days()) === 2);
    });
  });
});
