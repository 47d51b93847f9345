import { createHash } from 'node:crypto';
import request from 'supertest';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { RedisService } from '../../../src/platform/redis/redis.service.js';
import { expectError, expectInvalid } from '../../support/http/expect-errors.js';

const CODES = '/v1/account/sign-in-codes';

describe('sign-in codes', () => {
  const service = useService({ ROLES: 'api' });
  let client: ApiClient;

  beforeAll(async () => {
    client = await service.account();
  });

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
  const service = useService({ ROLES: 'api', ADDRESS_RATE_LIMIT: '5/5' });

  it('D65: is limited by the address', async () => {
    const tries = [];
    for (let i = 0; i < 6; i++) {
      tries.push((await request(service.url).post('/v1/account/sign-in-codes/exchange').send({ code: 'x' })).status);
    }
    expect(tries.slice(0, 5)).toEqual([401, 401, 401, 401, 401]);
    expect(tries[5]).toBe(429);
  });
});
