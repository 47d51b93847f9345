import { createHash } from 'node:crypto';
import request from 'supertest';
import { AccountService } from '../../../src/modules/account/account.service.js';
import { RedisService } from '../../../src/platform/redis/redis.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { expectError, expectHeaders, expectInvalid } from '../../support/http/expect-errors.js';
import { useService } from '../../../src/testing/test-service.js';
import { UUID } from '../../support/http/matchers.js';
import { ACCOUNT } from '../../support/http/response-shapes.js';

const CODES = '/v1/account/sign-in-codes';
const NOTHING = { recordings_count: 0, total_duration_seconds: 0, storage_used_bytes: 0 };

const service = useService({ ROLES: 'api' });
let client: ApiClient;

beforeEach(async () => {
  client = await service.account();
});

describe('account', () => {
  it('is shown with exactly the fields of its shape (2.1, D2, D3)', async () => {
    const answer = await client
      .get('/v1/account')
      .expect(200)
      .expect('Content-Type', 'application/json; charset=utf-8');

    expect(answer.body).toStrictEqual({
      ...ACCOUNT,
      id: client.accountId,
      name: expect.stringMatching(/^Account /),
      email: 'test@example.com',
      status: 'active',
      plan: 'enterprise',
      usage: { current_month: NOTHING, previous_month: NOTHING },
    });
    expect(answer.body.id).toMatch(UUID);
    expectHeaders(answer);
  });

  it('shows the plan (D5)', async () => {
    for (const plan of ['free', 'pro'] as const) {
      const { body } = await (await service.account(plan)).get('/v1/account').expect(200);
      expect(body.plan).toBe(plan);
    }
  });

  it('shows at once what the operator changed', async () => {
    const before = await client.get('/v1/account').expect(200);
    await service.app.get(AccountService).update(client.accountId, { name: 'Renamed', plan: 'pro' });

    const { body } = await client.get('/v1/account').expect(200).expect('X-RateLimit-Limit', '100');
    expect(body).toMatchObject({ name: 'Renamed', plan: 'pro', created_at: before.body.created_at });
    expect(body.updated_at >= before.body.updated_at).toBe(true);
  });
});

describe('sign-in codes', () => {
  const create = async (): Promise<{ code: string; expires_at: string }> =>
    (await client.post(CODES).expect(201)).body as { code: string; expires_at: string };
  const exchange = (code: unknown) => request(service.url).post(`${CODES}/exchange`).send({ code });
  const redis = () => service.app.get(RedisService).client;
  const nameOf = (code: string): string => `sign-in:${createHash('sha256').update(code).digest('base64url')}`;

  it('D65: is exchanged once for the key pair that made it, for ten minutes', async () => {
    const { code, expires_at } = await create();
    const lifetime = await redis().pttl(nameOf(code));
    expect(lifetime).toBeGreaterThan(590_000);
    expect(lifetime).toBeLessThanOrEqual(600_000);
    expect(Math.abs(Date.parse(expires_at) - Date.now() - 600_000)).toBeLessThan(10_000);
    const { key, secret } = client.credentials;
    const { body } = await exchange(code).expect(200);
    expect(body).toEqual({ api_key: key, api_secret: secret });
    const again = await exchange(code);
    expectError(again, 'AuthenticationError');
    expect(again.body.error.message).toMatch(/^This sign-in code was used/);
  });

  it('D65: of many requests with one code, one gets the pair', async () => {
    const { code } = await create();
    const answers = await Promise.all(Array.from({ length: 10 }, () => exchange(code)));
    const with200 = answers.filter(({ status }) => status === 200);
    expect([with200.length, answers.filter(({ status }) => status === 401).length]).toEqual([1, 9]);
  });

  it('D65: Redis has neither the code nor the secret', async () => {
    const { code } = await create();
    const stored = await redis().get(nameOf(code));
    expect(stored).not.toBeNull();
    expect(stored).not.toContain(client.credentials.secret);
    expect(stored).not.toContain(client.credentials.key);
    await redis().del(nameOf(code));
    await exchange(code).expect(401);
  });

  it('takes the pair from a Bearer header too', async () => {
    const { key, secret } = client.credentials;
    const made = await request(service.url).post(CODES).set('Authorization', `Bearer ${key}.${secret}`).expect(201);
    const { body } = await exchange(made.body.code).expect(200);
    expect(body).toEqual({ api_key: key, api_secret: secret });
  });

  it('refuses what is no code', async () => {
    await exchange('vnc_unknown').expect(401);
    expectInvalid(await exchange(''), 'code');
    expectInvalid(await exchange(undefined), 'code');
    expectInvalid(await exchange(1), 'code');
  });

  it('D65: gives no code to an access token or without credentials', async () => {
    const { body } = await client.post('/v1/account/access-tokens', { identity: 'user-1' }).expect(201);
    await request(service.url)
      .post(CODES)
      .set('Authorization', `Bearer ${body.token as string}`)
      .expect(403);
    await request(service.url).post(CODES).expect(401);
  });
});

describe('the exchange of sign-in codes', () => {
  const limited = useService({ ROLES: 'api', ADDRESS_RATE_LIMIT: '5/5' });

  it('D65: is limited by the address', async () => {
    const tries = [];
    for (let i = 0; i < 6; i++) {
      tries.push((await request(limited.url).post('/v1/account/sign-in-codes/exchange').send({ code: 'x' })).status);
    }
    expect(tries.slice(0, 5)).toEqual([401, 401, 401, 401, 401]);
    expect(tries[5]).toBe(429);
  });
});
