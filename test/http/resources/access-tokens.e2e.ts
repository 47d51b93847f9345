import { createSecretKey, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, type JWTPayload, SignJWT } from 'jose';
import { Redis } from 'ioredis';
import request, { type Test } from 'supertest';
import { AccountService } from '../../../src/modules/account/account.service.js';
import { SecretsService } from '../../../src/platform/secrets.service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { checkRows } from '../../support/check-rows.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { call, type Ids, NAMED_OPERATIONS } from '../../support/http/operations.js';
import { expectHeaders, expectInvalid, expectError, expectErrorOf } from '../../support/http/expect-errors.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { CREATED_ACCESS_TOKEN, CREATED_RECORDING } from '../../support/http/response-shapes.js';

const TOKENS = '/v1/account/access-tokens';
const NOTE = silenceWav(0.1);

describe('access tokens (D15)', () => {
  let client: ApiClient;

  const service = useService({ ROLES: 'api' });
  const { environment } = service;
  let redis: Redis;

  beforeAll(() => {
    redis = new Redis(environment.variables.REDIS_URL as string);
    environment.defer(() => redis.disconnect());
  });

  beforeEach(async () => {
    client = await service.account();
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
      webhook_id: randomUUID(),
      delivery_id: randomUUID(),
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
