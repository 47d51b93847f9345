import { createSecretKey, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { decodeJwt, decodeProtectedHeader, type JWTPayload, SignJWT } from 'jose';
import request, { type Test } from 'supertest';
import { SCOPES } from '../../../src/access/scopes.js';
import { AccountService } from '../../../src/modules/account/account.service.js';
import { SecretsService } from '../../../src/platform/secrets.service.js';
import { ApiClient, type Credentials } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { checkRows } from '../../support/check-rows.js';
import {
  expectError,
  expectErrorOf,
  expectHeaders,
  expectInvalid,
  statusesOf,
} from '../../support/http/expect-errors.js';
import { envelope, walk } from '../../support/http/list-parameters.js';
import { call, type Ids, NAMED_OPERATIONS } from '../../support/http/operations.js';
import {
  API_KEY,
  CREATED_ACCESS_TOKEN,
  CREATED_API_KEY,
  CREATED_RECORDING,
  pageOf,
  RESOURCE_TIME,
  SINGLE_API_KEY,
} from '../../support/http/response-shapes.js';
import { addKeys } from '../../support/state/filler-rows.js';

const KEYS = '/v1/account/api-keys';
const IN_A_YEAR = new Date(Date.now() + 365 * 86_400_000).toISOString();

/** D13. */
const LAG_MS = 5000;

const service = useService({ ROLES: 'api' });
let client: ApiClient;

beforeEach(async () => {
  client = await service.account();
});

describe('API keys', () => {
  async function create(body: object = {}, by = client): Promise<{ id: string } & Record<string, unknown>> {
    return (await by.post(KEYS, { name: 'A key', ...body }).expect(201)).body;
  }

  function callerWith(created: Record<string, unknown>): ApiClient {
    const { id, api_key: key, api_secret: secret } = created;
    return new ApiClient(service.url, client.accountId, { id, key, secret } as Credentials);
  }

  const expire = (id: string) =>
    service.database.query(`UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = $1`, [id]);

  describe('create', () => {
    it('answers 201 with the creation shape, which alone shows the pair (2.2, D2, D9, D11)', async () => {
      const answer = await client.post(KEYS, { name: 'Backend', description: 'of the shop' }).expect(201);

      expect(answer.body).toStrictEqual({
        ...CREATED_API_KEY,
        name: 'Backend',
        key_prefix: answer.body.api_key.slice(0, 12),
        uri: `${KEYS}/${answer.body.id}`,
      });
      expectHeaders(answer);
      await callerWith(answer.body).get('/v1/account').expect(200);
    });

    it('never shows the pair again, and stores no secret (D9)', async () => {
      const created = await create();
      const [list, single, [row]] = await Promise.all([
        client.get(KEYS).expect(200),
        client.get(`${KEYS}/${created.id}`).expect(200),
        service.database.query<object>('SELECT * FROM api_keys WHERE id = $1', [created.id]),
      ]);

      expect(list.text + single.text).not.toContain(created.api_key);
      expect(list.text + single.text + JSON.stringify(row)).not.toContain(created.api_secret);
    });

    it('has the scopes that are asked for, or those of its maker, and never more: 403 (D11)', async () => {
      expect((await create()).scopes).toEqual([...SCOPES]);
      const created = await create({ scopes: ['account:write', 'recordings:read'] });
      expect(created.scopes).toEqual(['account:write', 'recordings:read']);
      const weak = callerWith(created);
      expect((await create({}, weak)).scopes).toEqual(['account:write', 'recordings:read']);
      expectError(await weak.get('/v1/account'), 'PermissionError', { required_scope: 'account:read' });
      const strong = await weak.post(KEYS, { name: 'Strong', scopes: ['recordings:read', 'webhooks:write'] });
      expectError(strong, 'PermissionError', { required_scope: 'webhooks:write' });
      expect((await client.get(KEYS)).body.total).toBe(4);
    });

    describe('by a key that expires (D36)', () => {
      let maker: ApiClient;
      let end: string;

      beforeEach(async () => {
        end = new Date(Date.now() + 3_600_000).toISOString();
        maker = callerWith(await create({ expires_at: end }));
      });

      it('has its expiry where the body has none, null or a later one, and gives it to grandchildren', async () => {
        const child = callerWith(await create({}, maker));
        for (const [by, body] of [
          [maker, { expires_at: null }],
          [maker, { expires_at: IN_A_YEAR }],
          [child, {}],
        ] as const) {
          const { id } = await create(body, by);
          const { body: shown } = await client.get(`${KEYS}/${id}`).expect(200);
          expect(shown).toMatchObject({ expires_at: end.slice(0, 19), created_by: by.credentials.id });
        }
      });

      it('keeps an earlier one', async () => {
        const earlier = new Date(Date.now() + 600_000).toISOString();
        const { id } = await create({ expires_at: earlier }, maker);
        expect((await client.get(`${KEYS}/${id}`)).body.expires_at).toBe(earlier.slice(0, 19));
      });
    });

    it('tells which key made a key, and null for those of the operator (D36)', async () => {
      const { id } = await create();
      const makerOf = async (key: string) => (await client.get(`${KEYS}/${key}`).expect(200)).body.created_by;

      expect(await makerOf(id)).toBe(client.credentials.id);
      expect(await makerOf(client.credentials.id)).toBeNull();
    });

    it('takes an expiry with a zone, and shows it in UTC (D2, D11)', async () => {
      const { id } = await create({ expires_at: '2090-06-30T23:30:00.500+02:00' });

      expect((await client.get(`${KEYS}/${id}`)).body).toMatchObject({
        status: 'active',
        expires_at: '2090-06-30T21:30:00',
      });
    });

    it('takes names of 1 to 100 and descriptions of up to 500 characters, counted as code points (D11)', () =>
      checkRows<[body: Record<string, string | null>]>(
        [
          [{ name: 'x' }],
          [{ name: '🎙'.repeat(100) }],
          [{ description: 'é'.repeat(500) }],
          [{ description: '' }],
          [{ description: null, expires_at: null }],
        ],
        async (body) => {
          const { id } = await create(body);
          const { body: single } = await client.get(`${KEYS}/${id}`).expect(200);
          const made = { created_by: client.credentials.id, description: null, expires_at: null };
          expect(single).toStrictEqual({ ...SINGLE_API_KEY, ...made, ...body });
        },
      ));

    it('refuses what breaks a rule, naming the field (D11, 2001)', async () => {
      await checkRows<[what: string, body: object, field: string]>(
        [
          ['no name', { name: undefined }, 'name'],
          ['a name of 101 characters', { name: 'x'.repeat(101) }, 'name'],
          ['a description of 501 characters', { description: 'x'.repeat(501) }, 'description'],
          ['a description with a control character', { description: 'a\u001bb' }, 'description'],
          ['no scope at all', { scopes: [] }, 'scopes'],
          ['null for scopes', { scopes: null }, 'scopes'],
          ['an unknown scope', { scopes: ['recordings:read', 'recordings:delete'] }, 'scopes'],
          ['a scope twice', { scopes: ['recordings:read', 'recordings:read'] }, 'scopes'],
          ['text for scopes', { scopes: 'recordings:read' }, 'scopes'],
          ['an expiry in the past', { expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
          ['a day that does not exist', { expires_at: '2090-02-30T00:00:00Z' }, 'expires_at'],
          ['an expiry beyond the year 9999', { expires_at: '9999-12-31T23:59:59-23:59' }, 'expires_at'],
          ['a number for an expiry', { expires_at: 4_000_000_000 }, 'expires_at'],
          ['a field of the answer', { status: 'active' }, 'status'],
        ],
        async (_, body, field) => expectInvalid(await client.post(KEYS, { name: 'A key', ...body }), field),
      );
      expect((await client.get(KEYS)).body.total).toBe(1);
    });

    it('names all errors, with the first one in details (2001)', async () => {
      const answer = await client.post(KEYS, { nmae: 'A key', scopes: [], expires_at: '' });

      expectInvalid(answer, 'nmae', /not a field/, ['nmae', 'name', 'scopes', 'expires_at']);
    });

    it('stops at 100 active keys, however many are asked for at once (D7)', async () => {
      const fillers = await addKeys(service, client, 92);
      const answers = await Promise.all(Array.from({ length: 15 }, () => client.post(KEYS, { name: 'A key' })));
      expect(statusesOf(answers)).toEqual([...Array(7).fill(201), ...Array(8).fill(400)]);
      for (const answer of answers) {
        if (answer.status !== 201) expectError(answer, 'LimitExceededError', { maximum: 100 });
      }
      const refuse = async () =>
        expectError(await client.post(KEYS, { name: 'x' }), 'LimitExceededError', { maximum: 100 });

      // Neither an expired nor a revoked key is an active one.
      await expire(fillers[0] as string);
      await create();
      await refuse();
      await client.delete(`${KEYS}/${fillers[1]}`).expect(204);
      await create();
      await refuse();
    });
  });

  describe('list', () => {
    it('answers with a page of keys, newest first, in exactly their shape (2.6, D17)', async () => {
      const first = await create({ name: 'First' });
      const second = await create({ name: 'Second', expires_at: IN_A_YEAR });
      const answer = await client.get(KEYS).expect(200);

      expect(answer.body).toStrictEqual({ ...pageOf('api_keys'), ...envelope(KEYS, { size: 3, total: 3 }) });
      const own = { ...API_KEY, tenant_id: client.accountId };
      expect(answer.body.api_keys).toStrictEqual([
        { ...own, id: second.id, name: 'Second', usage_count: 0, expires_at: IN_A_YEAR.slice(0, 19) },
        { ...own, id: first.id, name: 'First', usage_count: 0, last_used_at: null, expires_at: null },
        { ...own, id: client.credentials.id, name: 'Test key' },
      ]);
      expectHeaders(answer);
    });

    it('is walked by next_page_uri to its end, and empty past it (4.1, D17)', async () => {
      const ids = [client.credentials.id];
      for (let i = 0; i < 4; i++) ids.unshift((await create()).id);
      expect(await walk(client, KEYS, 'api_keys', { limit: 2, total: 5 })).toEqual(ids);
      const { body } = await client.get(`${KEYS}?limit=10&page=7`).expect(200);
      expect(body).toStrictEqual({ api_keys: [], ...envelope(KEYS, { page: 7, limit: 10, total: 5 }) });
    });

    it('shows active and expired keys, and revoked ones only when they are asked for (D12, D19)', async () => {
      const [active, expired, revoked] = [await create(), await create(), await create()];
      await expire(expired.id);
      await service.database.query(`UPDATE api_keys SET expires_at = now() + interval '1 day' WHERE id = $1`, [
        active.id,
      ]);
      await client.delete(`${KEYS}/${revoked.id}`).expect(204);
      const idsOf = async (query: string) => {
        const { body } = await client.get(`${KEYS}${query}`).expect(200);
        expect(body.total).toBe(body.api_keys.length);
        return body.api_keys.map(({ id, status }: { id: string; status: string }) => [id, status]);
      };

      const own = [client.credentials.id, 'active'];
      expect(await idsOf('')).toEqual([[expired.id, 'expired'], [active.id, 'active'], own]);
      expect(await idsOf('?status=active')).toEqual([[active.id, 'active'], own]);
      expect(await idsOf('?status=expired')).toEqual([[expired.id, 'expired']]);
      expect(await idsOf('?status=revoked')).toEqual([[revoked.id, 'revoked']]);
    });
  });

  describe('get', () => {
    it('answers with the list’s shape and the description (D11)', async () => {
      const { id } = await create({ name: 'Phone', description: 'for the app', scopes: ['recordings:write'] });

      const { body } = await client.get(`${KEYS}/${id}`).expect(200);
      expect(body).toStrictEqual({
        ...SINGLE_API_KEY,
        id,
        tenant_id: client.accountId,
        name: 'Phone',
        description: 'for the app',
        scopes: ['recordings:write'],
        status: 'active',
        usage_count: 0,
        uri: `${KEYS}/${id}`,
      });
    });
  });

  describe('revoke', () => {
    it('answers 204 without a body, and the very next request with the key is 401 (D12)', async () => {
      const created = await create();
      const doomed = callerWith(created);
      await doomed.get('/v1/account').expect(200);

      const answer = await client.delete(`${KEYS}/${created.id}`).expect(204);
      expect(answer.text).toBe('');
      expectHeaders(answer);
      expectError(await doomed.get('/v1/account'), 'AuthenticationError');
    });

    it('leaves a key that can be read and is revoked for good: 404 for a second time (D12)', async () => {
      const { id } = await create();
      await client.delete(`${KEYS}/${id}`).expect(204);

      expect((await client.get(`${KEYS}/${id}`).expect(200)).body).toMatchObject({ id, status: 'revoked' });
      expectError(await client.delete(`${KEYS}/${id}`), 'NotFoundError');
      expect((await client.get(`${KEYS}/${id}`).expect(200)).body.status).toBe('revoked');
    });

    it('of two at the same time lets one succeed', async () => {
      const { id } = await create();
      const answers = await Promise.all([1, 2, 3].map(() => client.delete(`${KEYS}/${id}`)));

      expect(statusesOf(answers)).toEqual([204, 404, 404]);
    });

    it('may revoke the key that asks, also the account’s last one, and an expired one (D12)', async () => {
      const { id } = await create();
      await expire(id);
      await client.delete(`${KEYS}/${id}`).expect(204);
      expect((await client.get(`${KEYS}/${id}`).expect(200)).body.status).toBe('revoked');
      await client.delete(`${KEYS}/${client.credentials.id}`).expect(204);
      expectError(await client.get('/v1/account'), 'AuthenticationError');
      const fresh = await service.key(client, ['account:read']);
      expect((await fresh.get(`${KEYS}?status=revoked`).expect(200)).body.total).toBe(2);
    });

    it('takes the keys that the key made along with descendants=true, and only then (D36)', async () => {
      const parent = await create();
      const child = await create({}, callerWith(parent));
      const grandchild = await create({}, callerWith(child));
      const other = await create();
      const statuses = () =>
        Promise.all(
          [parent, child, grandchild, other].map((key) =>
            callerWith(key)
              .get(KEYS)
              .then(({ status }) => status),
          ),
        );
      expect(await statuses()).toEqual([200, 200, 200, 200]);

      await client.delete(`${KEYS}/${parent.id}?descendants=false`).expect(204);
      await client.delete(`${KEYS}/${child.id}`).expect(204);
      expect(await statuses()).toEqual([401, 401, 200, 200]);
      // Also after the key itself, or one between, was revoked without them.
      await client.delete(`${KEYS}/${parent.id}?descendants=true`).expect(204);
      expect(await statuses()).toEqual([401, 401, 401, 200]);
      expectError(await client.delete(`${KEYS}/${parent.id}?descendants=true`), 'NotFoundError');
      const { body } = await client.get(`${KEYS}?status=revoked`).expect(200);
      expect(body.total).toBe(3);
    });

    it('with descendants=true leaves no child alive that is made at the same moment (D36)', async () => {
      for (let round = 0; round < 5; round++) {
        const parent = callerWith(await create());
        const making = Array.from({ length: 6 }, () => parent.post(KEYS, { name: 'A key' }));
        const [answers] = await Promise.all([
          Promise.all(making),
          client.delete(`${KEYS}/${parent.credentials.id}?descendants=true`).expect(204),
        ]);
        expect(new Set(statusesOf(answers))).toEqual(
          new Set(statusesOf(answers).filter((s) => s === 201 || s === 401)),
        );
        for (const { status, body } of answers) if (status === 201) await callerWith(body).get(KEYS).expect(401);
      }
    });

    it('does not reach keys of another account with descendants=true', async () => {
      const stranger = await service.account();
      const { id } = await create();
      expectError(await stranger.delete(`${KEYS}/${id}?descendants=true`), 'NotFoundError');
      expect((await client.get(`${KEYS}/${id}`)).body.status).toBe('active');
    });

    it('takes descendants as true or false, once (D16)', async () => {
      const { id } = await create();
      expectInvalid(await client.delete(`${KEYS}/${id}?descendants=1`), 'descendants');
      expectInvalid(await client.delete(`${KEYS}/${id}?descendants=true&descendants=true`), 'descendants');

      expect((await client.get(`${KEYS}/${id}`)).body.status).toBe('active');
    });
  });

  it('lets an expired key in no more (D12, D14)', async () => {
    let lifeMs = 1500;
    const { end, guest, status } = await eventually(async () => {
      lifeMs *= 2;
      const until = Date.now() + lifeMs;
      const caller = callerWith(await create({ expires_at: new Date(until).toISOString() }));
      const answer = await caller.get('/v1/account');
      // On a busy machine the key may have expired before it was used: then one that lives longer is.
      return (answer.status === 200 || Date.now() < until) && { end: until, guest: caller, status: answer.status };
    });
    expect(status).toBe(200);
    await eventually(async () => (await guest.get('/v1/account')).status !== 200);

    expect(Date.now()).toBeGreaterThanOrEqual(end);
    expectError(await guest.get('/v1/account'), 'AuthenticationError');
  });

  describe('credentials (D9, D14)', () => {
    const lastChanged = (text: string) => text.slice(0, -1) + (text.endsWith('0') ? '1' : '0');
    const spoilt: [string, (own: Credentials, other: Credentials) => [key?: string, secret?: string]][] = [
      ['nothing', () => []],
      ['the key alone', (own) => [own.key]],
      ['the secret alone', (own) => [undefined, own.secret]],
      ['a secret with a typing error', (own) => [own.key, lastChanged(own.secret)]],
      ['a secret that is cut off', (own) => [own.key, own.secret.slice(0, -1)]],
      ['a secret with one character more', (own) => [own.key, `${own.secret}0`]],
      ['the secret of another key', (own, other) => [own.key, other.secret]],
      ['an unknown key', (own) => [lastChanged(own.key), own.secret]],
      ['a key in upper case', (own) => [own.key.toUpperCase(), own.secret]],
      ['the two halves exchanged', (own) => [own.secret, own.key]],
      ['the key’s prefix', (own) => [own.key.slice(0, 12), own.secret]],
      ['the key’s id', (own) => [own.id, own.secret]],
      ['SQL', (own) => [`' OR 1=1 --`, own.secret]],
      ['3,000 characters', (own) => [own.key, 'x'.repeat(3000)]],
    ];

    it('are 401 with one message, whatever is wrong with them', async () => {
      const other = callerWith(await create());
      await checkRows(spoilt, async (_, spoil) => {
        const [key, secret] = spoil(client.credentials, other.credentials);
        const asking = request(service.url).get('/v1/account');
        if (key !== undefined) void asking.set('X-Service-API-Key', key);
        if (secret !== undefined) void asking.set('X-Service-API-Secret', secret);
        const answer = await asking;
        expectError(answer, 'AuthenticationError');
        expect(answer.body.error.message).toBe(
          'Send a valid API key as X-Service-API-Key and X-Service-API-Secret or as Authorization: Bearer key.secret, or an access token.',
        );
        const bearer = `Bearer ${key ?? ''}.${secret ?? ''}`;
        const asBearer = await request(service.url).get('/v1/account').set('Authorization', bearer);
        expectError(asBearer, 'AuthenticationError');
        expect(asBearer.body).toEqual(answer.body);
      });
    });
  });

  describe('as Authorization: Bearer key.secret (D45)', () => {
    const asking = (authorization: string, headers = {}) =>
      request(service.url)
        .get('/v1/account')
        .set({ Authorization: authorization, ...headers });
    const pairOf = ({ credentials: { key, secret } }: ApiClient) => `${key}.${secret}`;

    it('is the key, with its scopes, its rate limit and its uses', async () => {
      const weak = await create({ scopes: ['webhooks:read'] });
      const pair = `${weak.api_key as string}.${weak.api_secret as string}`;
      const { body } = await asking(`bearer  ${pairOf(client)}`).expect(200);
      expect(body.id).toBe(client.accountId);
      const refused = await asking(`Bearer ${pair}`);
      expectError(refused, 'PermissionError', { required_scope: 'account:read' });
      await eventually(async () => {
        const shown = await client.get(`${KEYS}/${weak.id}`).expect(200);
        return shown.body.usage_count === 1;
      }, LAG_MS);
      await client.delete(`${KEYS}/${weak.id}`).expect(204);
      expectError(await asking(`Bearer ${pair}`), 'AuthenticationError');
    });

    it('may be sent beside the same pair in its own headers, and beside no other', async () => {
      const other = callerWith(await create());
      await asking(`Bearer ${pairOf(client)}`, client.headers).expect(200);
      const { 'X-Service-API-Key': key } = client.headers;
      for (const headers of [other.headers, { 'X-Service-API-Key': key }]) {
        expectError(await asking(`Bearer ${pairOf(client)}`, headers), 'AuthenticationError');
      }
      const { key: own, secret } = client.credentials;
      for (const mixed of [`${own}.${other.credentials.secret}`, `${other.credentials.key}.${secret}`]) {
        expectError(await asking(`Bearer ${mixed}`, client.headers), 'AuthenticationError');
      }
    });

    it('is not read from another form', async () => {
      const { key, secret } = client.credentials;
      const forms = [`${key}:${secret}`, `${secret}.${key}`, `${key}.`, key, secret, `${key}.${secret} `.repeat(2)];
      const schemes = ['Basic', 'Bearer Bearer'].map((scheme) => `${scheme} ${key}.${secret}`);
      for (const form of [...forms.map((pair) => `Bearer ${pair}`), ...schemes]) {
        expectError(await asking(form), 'AuthenticationError');
      }
    });
  });

  describe('usage (D13)', () => {
    it('is counted within 5 s, without losing one', async () => {
      const created = await create();
      const user = callerWith(created);
      await Promise.all(Array.from({ length: 7 }, () => user.get('/v1/account').expect(200)));

      const shown = await eventually(async () => {
        const { body } = await client.get(`${KEYS}/${created.id}`).expect(200);
        return body.usage_count >= 7 && body;
      }, LAG_MS);
      expect(shown).toMatchObject({ usage_count: 7, last_used_at: expect.stringMatching(RESOURCE_TIME) });
      expect(Math.abs(Date.parse(`${shown.last_used_at}Z`) - Date.now())).toBeLessThan(LAG_MS + 1000);
    });

    it('counts what is refused later, and nothing that is not authenticated', async () => {
      const created = await create({ scopes: ['webhooks:read'] });
      const user = callerWith(created);
      await user.get('/v1/account').expect(403);
      await user.get('/v1/nowhere').expect(404);
      await new ApiClient(service.url, '', { ...user.credentials, secret: client.credentials.secret })
        .get('/v1/account')
        .expect(401);
      await user.get('/v1/webhooks').expect(200);

      const count = await eventually(async () => {
        const { body } = await client.get(`${KEYS}/${created.id}`).expect(200);
        return body.usage_count >= 3 && body.usage_count;
      }, LAG_MS);
      expect(count).toBe(3);
    });
  });
});

const TOKENS = '/v1/account/access-tokens';
const NOTE = silenceWav(0.1);

describe('access tokens (D15)', () => {
  const { environment } = service;
  let redis: Redis;

  beforeAll(() => {
    redis = new Redis(environment.variables.REDIS_URL as string);
    environment.defer(() => redis.disconnect());
  });

  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
  const uploadWith = (headers: Record<string, string>): Test =>
    request(service.url).post('/v1/recordings').set(headers).attach('file', NOTE, 'note.wav');

  async function tokenFor(identity: string, by = client): Promise<string> {
    return (await by.post(TOKENS, { identity }).expect(201)).body.token;
  }

  describe('create', () => {
    it('answers 201 with exactly its shape, for an hour when nothing is said (D2)', async () => {
      const answer = await client.post(TOKENS, { identity: 'user-42' }).expect(201);

      expect(answer.body).toStrictEqual({ ...CREATED_ACCESS_TOKEN, identity: 'user-42' });
      expect((Date.parse(answer.body.expires_at) - Date.now()) / 1000).toBeCloseTo(3600, -1);
      expectHeaders(answer);
    });

    it('makes a JWT under HS256: the account as sub, the end user as identity, and the end it tells', async () => {
      const { body } = await client.post(TOKENS, { identity: 'user-42', expires_in: 900 }).expect(201);

      expect(decodeProtectedHeader(body.token)).toMatchObject({ alg: 'HS256', typ: 'JWT' });
      const { sub, identity, exp, iat } = decodeJwt(body.token);
      expect({ sub, identity, exp }).toEqual({
        sub: client.accountId,
        identity: 'user-42',
        exp: Date.parse(body.expires_at) / 1000,
      });
      expect((exp as number) - (iat as number)).toBe(900);
    });

    it('takes an identity of 1 to 255 code points and a lifetime from a minute to a day, and nothing else (2001)', async () => {
      for (const body of [
        { expires_in: 60 },
        { expires_in: 86_400 },
        { identity: 'x' },
        { identity: '🎙'.repeat(255) },
      ]) {
        await client.post(TOKENS, { identity: 'user-42', ...body }).expect(201);
      }
      await checkRows<[body: object, field: string]>(
        [
          [{ identity: undefined }, 'identity'],
          [{ identity: 'x'.repeat(256) }, 'identity'],
          [{ expires_in: 59 }, 'expires_in'],
          [{ expires_in: 86_401 }, 'expires_in'],
          [{ expires_in: 90.5 }, 'expires_in'],
          [{ expires_in: '900' }, 'expires_in'],
          [{ expires_in: null }, 'expires_in'],
          [{ scopes: ['recordings:write'] }, 'scopes'],
        ],
        async (body, field) => expectInvalid(await client.post(TOKENS, { identity: 'user-42', ...body }), field),
      );
    });
  });

  describe('upload', () => {
    it('is accepted with a token alone, whose identity becomes user_id', async () => {
      const answer = await uploadWith(bearer(await tokenFor('user-42'))).expect(201);

      expect(answer.body).toStrictEqual({
        ...CREATED_RECORDING,
        tenant_id: client.accountId,
        user_id: 'user-42',
        upload_source: 'access_token',
        features: null,
        custom_tags: null,
        processed_at: null,
      });
      expect((await client.get(answer.body.uri).expect(200)).body).toMatchObject({ user_id: 'user-42' });
      const stored = await service.database.query('SELECT key_id FROM recordings WHERE id = $1', [answer.body.id]);
      expect(stored).toEqual([{ key_id: client.credentials.id }]);
    });

    it('takes the identity from a token beside the key pair, and is by api then', async () => {
      const { body } = await uploadWith({ ...client.headers, ...bearer(await tokenFor('user-42')) }).expect(201);

      expect(body).toMatchObject({ user_id: 'user-42', upload_source: 'api' });
    });

    it('is by access_token with a token alone, whatever X-Upload-Source says (D22)', async () => {
      const headers = { 'X-Upload-Source': 'console', ...bearer(await tokenFor('user-42')) };
      expect((await uploadWith(headers).expect(201)).body).toMatchObject({ upload_source: 'access_token' });
      const { body } = await uploadWith({ ...headers, ...client.headers }).expect(201);
      expect(body).toMatchObject({ user_id: 'user-42', upload_source: 'console' });
    });

    it('has no user_id with a key pair alone', async () => {
      const { body } = await uploadWith(client.headers).expect(201);

      expect(body).toMatchObject({ user_id: null, upload_source: 'api' });
    });

    it('takes the scheme in any case, and leaves other schemes alone', async () => {
      const token = await tokenFor('user-42');

      await uploadWith({ Authorization: `bearer ${token}` }).expect(201);
      const { body } = await uploadWith({ ...client.headers, Authorization: 'Basic dXNlcjpwYXNz' }).expect(201);
      expect(body.user_id).toBeNull();
      expectError(await uploadWith({ Authorization: 'Basic dXNlcjpwYXNz' }), 'AuthenticationError');
    });

    it('lets the pair’s scopes decide when both are there', async () => {
      const weak = await service.key(client, ['recordings:read']);
      const answer = await uploadWith({ ...weak.headers, ...bearer(await tokenFor('user-42')) });

      expectError(answer, 'PermissionError', { required_scope: 'recordings:write' });
    });

    it('is 401 when token and pair belong to different accounts', async () => {
      const other = await service.account();
      const answer = await uploadWith({ ...client.headers, ...bearer(await tokenFor('user-42', other)) });

      expectError(answer, 'AuthenticationError');
    });

    it('is 401 when one of the two is invalid', async () => {
      const token = await tokenFor('user-42');
      const wrongPair = { ...client.headers, 'X-Service-API-Secret': 'vns_wrong' };

      expectError(await uploadWith({ ...wrongPair, ...bearer(token) }), 'AuthenticationError');
      expectError(await uploadWith({ ...client.headers, ...bearer('nonsense') }), 'AuthenticationError');
      expectError(await uploadWith({ ...client.headers, Authorization: 'Bearer' }), 'AuthenticationError');
      for (const half of Object.keys(client.headers)) {
        const { [half]: _, ...rest } = client.headers;
        expectError(await uploadWith({ ...rest, ...bearer(token) }), 'AuthenticationError');
      }
    });

    it('is 403 for the token of a suspended account (D4)', async () => {
      const token = await tokenFor('user-42');
      await service.app.get(AccountService).update(client.accountId, { status: 'suspended' });

      expectError(await uploadWith(bearer(token)), 'AccountSuspendedError');
    });
  });

  describe('the key that issued it (D35)', () => {
    const expireKey = (id: string, interval: string) =>
      service.database.query(`UPDATE api_keys SET expires_at = now() + $2::interval WHERE id = $1`, [id, interval]);

    it('takes it along when it is revoked, at once', async () => {
      const issuer = await service.key(client, ['recordings:write']);
      const [token, other] = [await tokenFor('user-42', issuer), await tokenFor('user-42')];
      await uploadWith(bearer(token)).expect(201);
      await client.delete(`/v1/account/api-keys/${issuer.credentials.id}`).expect(204);

      expectError(await uploadWith(bearer(token)), 'AuthenticationError');
      expectError(await uploadWith({ ...client.headers, ...bearer(token) }), 'AuthenticationError');
      await uploadWith(bearer(other)).expect(201);
    });

    it('takes it along when it expires', async () => {
      const issuer = await service.key(client, ['recordings:write']);
      const token = await tokenFor('user-42', issuer);
      await uploadWith(bearer(token)).expect(201);
      await expireKey(issuer.credentials.id, '-1 second');
      await redis.flushdb();

      expectError(await uploadWith(bearer(token)), 'AuthenticationError');
    });

    it('ends it: expires_at of the token is no later than that of the key', async () => {
      const issuer = await service.key(client, ['recordings:write']);
      await expireKey(issuer.credentials.id, '10 minutes');
      const { body } = await issuer.post(TOKENS, { identity: 'user-42', expires_in: 3600 }).expect(201);

      expect((Date.parse(body.expires_at) - Date.now()) / 1000).toBeLessThanOrEqual(600);
    });
  });

  describe('void (D35)', () => {
    const uploadStatus = async (token: string) => (await uploadWith(bearer(token))).status;

    it('refuses what was issued before from the very next request on, in every process, and nothing issued after', async () => {
      const elsewhere = await startService(environment, { ROLES: 'api' });
      const statusAt = async (url: string, token: string) =>
        (await request(url).get('/v1/webhooks').set(bearer(token))).status;
      for (let round = 0; round < 10; round++) {
        const before = await tokenFor('user-42');
        expect(await statusAt(elsewhere.url, before)).toBe(403);
        expect(await statusAt(service.url, before)).toBe(403);
        await client.delete(TOKENS).expect(204);
        expect(await statusAt(elsewhere.url, before)).toBe(401);
        expect(await statusAt(service.url, before)).toBe(401);
        // In the same second, and from another process.
        const after = await tokenFor('user-42', client.at(elsewhere.url));
        expect(await statusAt(service.url, after)).toBe(403);
        expect(await statusAt(elsewhere.url, after)).toBe(403);
      }
    });

    it('leaves other end users alone when it names one', async () => {
      const [one, other] = [await tokenFor('user-42'), await tokenFor('user-43')];
      const answer = await client.delete(`${TOKENS}?identity=user-42`).expect(204);
      expectHeaders(answer);

      expect([await uploadStatus(one), await uploadStatus(other)]).toEqual([401, 201]);
      expect(await uploadStatus(await tokenFor('user-42'))).toBe(201);
    });

    it('also takes a token that an earlier release issued', async () => {
      const old = await new SignJWT({ identity: 'user-42' })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setIssuer('voice-note-transcription')
        .setAudience('upload')
        .setSubject(client.accountId)
        .setExpirationTime('10m')
        .sign(service.app.get(SecretsService).tokenKey);
      expect(await uploadStatus(old)).toBe(201);
      await client.delete(`${TOKENS}?identity=user-42`).expect(204);
      expect(await uploadStatus(old)).toBe(401);
    });

    it('reaches no other account', async () => {
      const stranger = await service.account();
      const token = await tokenFor('user-42', stranger);
      await client.delete(TOKENS).expect(204);

      expect(await uploadStatus(token)).toBe(201);
    });

    it('keeps no more than living tokens need, and no identity', async () => {
      const rows = () =>
        service.database.query<{ identity_hash: string }>(
          'SELECT identity_hash FROM access_token_voids WHERE account_id = $1',
          [client.accountId],
        );
      for (const identity of ['user-1', 'user-2']) await client.delete(`${TOKENS}?identity=${identity}`).expect(204);
      expect(JSON.stringify(await rows())).not.toContain('user-');
      await service.database.query(`UPDATE access_token_voids SET voided_at = now() - interval '26 hours'`);
      await client.delete(`${TOKENS}?identity=user-3`).expect(204);
      expect(await rows()).toHaveLength(1);
    });

    it('refuses what names no identity, and voids nothing', async () => {
      const token = await tokenFor('a');
      await checkRows([['identity='], [`identity=${'x'.repeat(256)}`], ['identity=a&identity=b']], async (query) =>
        expectInvalid(await client.delete(`${TOKENS}?${query}`), 'identity'),
      );
      expect(await uploadStatus(token)).toBe(201);
    });
  });

  describe('any other operation', () => {
    const others = NAMED_OPERATIONS.filter(([, { takesToken }]) => !takesToken);
    const ids: Ids = {
      key_id: randomUUID(),
      token_issuer_id: randomUUID(),
      webhook_id: randomUUID(),
      delivery_id: randomUUID(),
      share_id: randomUUID(),
      recording_id: randomUUID(),
    };

    it('is 403 with a token alone', async () => {
      const guest = { url: service.url, headers: bearer(await tokenFor('user-42')) };
      await checkRows(others, async (_, operation) => {
        // OpenAI's shape has no details.
        const details = operation.isCompatible ? {} : { required_scope: operation.scope };
        expectErrorOf(operation, await call(guest, operation, ids), 'PermissionError', details);
      });
    });

    it('goes by the pair when both are there', async () => {
      const both = { ...client.headers, ...bearer(await tokenFor('user-42')) };

      await request(service.url).get('/v1/account').set(both).expect(200);
    });

    it('is 404 on a path that does not exist (D6)', async () => {
      const token = await tokenFor('user-42');

      expectError(await request(service.url).get('/v1/nowhere').set(bearer(token)), 'NotFoundError');
    });
  });

  describe('an invalid token is 401', () => {
    const now = () => Math.floor(Date.now() / 1000);
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

    /** As the service makes them, but for what the test changes. */
    async function signed(claims: JWTPayload, key?: Parameters<SignJWT['sign']>[0], alg = 'HS256'): Promise<string> {
      const honest = {
        iss: 'voice-note-transcription',
        aud: 'upload',
        sub: client.accountId,
        identity: 'user-42',
        exp: now() + 600,
      };
      const payload = Object.fromEntries(Object.entries({ ...honest, ...claims }).filter(([, v]) => v !== undefined));
      return await new SignJWT(payload)
        .setProtectedHeader({ alg, typ: 'JWT' })
        .sign(key ?? service.app.get(SecretsService).tokenKey);
    }
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

    const bad: [string, () => string | Promise<string>][] = [
      ['nonsense', () => 'nonsense'],
      ['empty', () => ''],
      ['three empty parts', () => '..'],
      ['expired', () => signed({ exp: now() - 1 })],
      ['without an end', () => signed({ exp: undefined })],
      ['not valid yet', () => signed({ nbf: now() + 600 })],
      ['signed with another key', () => signed({}, createSecretKey(randomBytes(32)))],
      ['signed with the SECRET_KEY itself', () => signed({}, Buffer.from(environment.variables.SECRET_KEY as string))],
      ['signed with RS256', () => signed({}, rsa, 'RS256')],
      ['signed with HS512', () => signed({}, createSecretKey(randomBytes(64)), 'HS512')],
      ['not signed', async () => `${part({ alg: 'none' })}.${(await signed({})).split('.')[1]}.`],
      ['without its signature', async () => (await signed({})).replace(/\.[^.]*$/, '.')],
      ['of another issuer', () => signed({ iss: 'somebody' })],
      ['for another purpose', () => signed({ aud: 'download' })],
      ['without an account', () => signed({ sub: undefined })],
      ['of an unknown account', () => signed({ sub: randomUUID() })],
      ['of something that is no account', () => signed({ sub: 'x' })],
      ['without an identity', () => signed({ identity: undefined })],
      ['with a number as identity', () => signed({ identity: 42 })],
    ];

    it('whatever is wrong with it, while the unchanged one is valid', async () => {
      const honest = await signed({});
      await uploadWith(bearer(honest)).expect(201);
      const [header, payload = '', signature] = honest.split('.');
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
      const forged = `${header}.${part({ ...claims, identity: 'user-1' })}.${signature}`;
      await checkRows([...bad, ['with another identity', () => forged]], async (_, make) => {
        expectError(await uploadWith(bearer(await make())), 'AuthenticationError');
      });
    });
  });
});
