import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose';
import request, { type Test } from 'supertest';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { checkRows } from '../../support/check-rows.js';
import { expectError, expectInvalid } from '../../support/http/expect-errors.js';
import { call, createResources, nameOf, OPERATIONS } from '../../support/http/operations.js';
import { TOKEN_ISSUER } from '../../support/http/response-shapes.js';
import { transcribe } from '../../support/state/recording-states.js';

const ISSUERS = '/v1/account/token-issuers';
const ISSUER = 'https://login.example.com/';

const service = useService({ ROLES: 'api' });
const now = (): number => Math.floor(Date.now() / 1000);

type Algorithm = 'RS256' | 'PS256' | 'ES256' | 'EdDSA';
type Pair = Awaited<ReturnType<typeof generateKeyPair>>;
const pairs = {} as Record<Algorithm, Pair>;
let publicKeys: JWK[];
let client: ApiClient;

beforeAll(async () => {
  for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA'] as const) pairs[alg] = await generateKeyPair(alg);
  publicKeys = await Promise.all(
    Object.entries(pairs).map(async ([alg, { publicKey }]) => ({ ...(await exportJWK(publicKey)), kid: alg, alg })),
  );
});

beforeEach(async () => {
  client = await service.account();
});

async function register(body: object = {}, by = client): Promise<string> {
  const { body: created } = await by.post(ISSUERS, { issuer: ISSUER, keys: publicKeys, ...body }).expect(201);
  return created.id as string;
}

/** A valid token of the account. @param claims that differ; undefined takes one away. */
async function tokenOf(
  claims: JWTPayload = {},
  header: Partial<JWTHeaderParameters> = {},
  key: Parameters<SignJWT['sign']>[0] = pairs[(header.alg ?? 'ES256') as Algorithm].privateKey,
): Promise<string> {
  const payload = { iss: ISSUER, aud: client.accountId, sub: 'user-1', iat: now(), exp: now() + 300, ...claims };
  const alg = header.alg ?? 'ES256';
  return await new SignJWT(JSON.parse(JSON.stringify(payload)) as JWTPayload)
    .setProtectedHeader({ kid: alg, ...header, alg })
    .sign(key);
}

const by = (token: string) => ({ url: service.url, headers: { Authorization: `Bearer ${token}` } });
const get = (path: string, token: string): Test => request(service.url).get(path).set(by(token).headers);
const upload = (token: string): Test =>
  request(service.url).post('/v1/recordings').set(by(token).headers).attach('file', silenceWav(0.1), 'note.wav');

describe('Token issuers', () => {
  it('are created, listed, read, replaced and deleted', async () => {
    const body = { issuer: ISSUER, jwks_url: 'https://login.example.com/jwks.json', allows: ['read', 'delete'] };
    const { body: created } = await client.post(ISSUERS, body).expect(201);
    const shown = { ...TOKEN_ISSUER, ...body, keys: null, audience: client.accountId, uri: `${ISSUERS}/${created.id}` };
    expect(created).toStrictEqual(shown);
    expect((await client.get(created.uri).expect(200)).body).toStrictEqual(shown);
    const { body: changed } = await client.put(created.uri, { issuer: 'other', keys: publicKeys }).expect(200);
    expect(changed).toMatchObject({ issuer: 'other', jwks_url: null, keys: publicKeys, allows: [] });
    expect((await client.get(ISSUERS).expect(200)).body).toMatchObject({ total: 1, token_issuers: [changed] });
    await client.delete(created.uri).expect(204);
    expectError(await client.get(created.uri), 'NotFoundError');
    expectError(await client.delete(created.uri), 'NotFoundError');
  });

  it('are 50 at most', async () => {
    await service.database.query(
      `INSERT INTO token_issuers (id, account_id, issuer, jwks_url, allows, created_at, updated_at)
       SELECT gen_random_uuid(), $1, 'x', 'https://login.example.com/', '{}', now(), now() FROM generate_series(1, 49)`,
      [client.accountId],
    );
    await register();
    const refused = await client.post(ISSUERS, { issuer: ISSUER, keys: publicKeys });
    expectError(refused, 'LimitExceededError', { maximum: 50 });
  });

  it('are refused where a rule is broken', () =>
    checkRows<[what: string, body: object, field: string]>(
      [
        ['no issuer', { issuer: undefined }, 'issuer'],
        ['neither keys nor URL', { keys: undefined }, 'jwks_url'],
        ['keys and URL', { jwks_url: 'https://login.example.com/jwks.json' }, 'jwks_url'],
        ['a private address', { keys: undefined, jwks_url: 'https://10.0.0.1/jwks.json' }, 'jwks_url'],
        ['the metadata of a cloud', { keys: undefined, jwks_url: 'https://169.254.169.254/' }, 'jwks_url'],
        ['a private name', { keys: undefined, jwks_url: 'https://jwks.internal/' }, 'jwks_url'],
        ['no TLS', { keys: undefined, jwks_url: 'http://login.example.com/jwks.json' }, 'jwks_url'],
        ['no URL', { keys: undefined, jwks_url: 'jwks.json' }, 'jwks_url'],
        ['no keys', { keys: [] }, 'keys'],
        ['a secret', { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] }, 'keys'],
        ['an unknown right', { allows: ['write'] }, 'allows'],
        ['an audience of one’s own', { audience: 'voice-notes' }, 'audience'],
      ],
      async (_, body, field) =>
        expectInvalid(await client.post(ISSUERS, { issuer: ISSUER, keys: publicKeys, ...body }), field),
    ));
});

describe('Tokens of an account’s own issuer (D94)', () => {
  it('upload for their end user, whatever the algorithm, and do nothing else', async () => {
    await register();
    for (const alg of Object.keys(pairs)) {
      const token = await tokenOf({ sub: `user of ${alg}` }, { alg });
      const { body } = await upload(token).expect(201);
      expect((await client.get(body.uri).expect(200)).body).toMatchObject({ user_id: `user of ${alg}` });
      expectError(await get('/v1/recordings', token), 'PermissionError', { required_scope: 'recordings:read' });
      expectError(await get(body.uri, token), 'PermissionError', { required_scope: 'recordings:read' });
    }
  });

  it('are valid within 60 s of skew, and with the account among several audiences', async () => {
    await register();
    for (const claims of [
      { exp: now() - 30 },
      { nbf: now() + 30 },
      { iat: now() + 30 },
      { iat: undefined },
      { aud: ['https://api.example.com', client.accountId] },
    ])
      await upload(await tokenOf(claims)).expect(201);
  });

  it('are 401 when anything is wrong with them', async () => {
    await register();
    const other = await service.account();
    await register({}, other);
    const [stranger, secret] = [await generateKeyPair('ES256'), new Uint8Array(32).fill(7)];
    const pem = new TextEncoder().encode(await exportSPKI(pairs.RS256.publicKey));
    const jwk = await exportJWK(stranger.publicKey);
    const valid = await tokenOf();
    const [head = '', claims = '', signature = ''] = valid.split('.');
    const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const changed = encoded({ ...JSON.parse(Buffer.from(claims, 'base64url').toString()), sub: 'user-2' });
    await upload(valid).expect(201);

    await checkRows<[what: string, token: string]>(
      [
        ['alg none', `${encoded({ alg: 'none' })}.${claims}.`],
        ['alg none with the signature', `${encoded({ alg: 'none', kid: 'ES256' })}.${claims}.${signature}`],
        ['HS256 with the public key', await tokenOf({}, { alg: 'HS256', kid: 'RS256' }, pem)],
        ['HS256 with a secret', await tokenOf({}, { alg: 'HS256', kid: 'ES256' }, secret)],
        ['an unknown kid', await tokenOf({}, { kid: 'unknown' })],
        ['the kid of another key', await tokenOf({}, { kid: 'EdDSA' })],
        ['another key of the same name', await tokenOf({}, {}, stranger.privateKey)],
        ['another key in the header', await tokenOf({}, { jwk }, stranger.privateKey)],
        ['a URL of keys in the header', await tokenOf({}, { jku: 'https://example.com/keys' }, stranger.privateKey)],
        ['a certificate in the header', await tokenOf({}, { x5u: 'https://example.com/x' }, stranger.privateKey)],
        ['expired', await tokenOf({ exp: now() - 120 })],
        ['without an end', await tokenOf({ exp: undefined })],
        ['an end that is no number', await tokenOf({ exp: '2100' as unknown as number })],
        ['not valid yet', await tokenOf({ nbf: now() + 120 })],
        ['of the future', await tokenOf({ iat: now() + 120 })],
        ['no audience', await tokenOf({ aud: undefined })],
        ['another audience', await tokenOf({ aud: 'voice-notes' })],
        ['an unknown account', await tokenOf({ aud: randomUUID() })],
        ['two accounts', await tokenOf({ aud: [client.accountId, other.accountId] })],
        ['the account in upper case', await tokenOf({ aud: client.accountId.toUpperCase() })],
        ['another issuer', await tokenOf({ iss: 'https://login.example.com' })],
        ['no issuer', await tokenOf({ iss: undefined })],
        ['no end user', await tokenOf({ sub: undefined })],
        ['an end user without a name', await tokenOf({ sub: '' })],
        ['a number for an end user', await tokenOf({ sub: 7 as unknown as string })],
        ['an end user of 256 characters', await tokenOf({ sub: 'x'.repeat(256) })],
        ['a control character', await tokenOf({ sub: 'a\u0000b' })],
        ['too long', await tokenOf({ sub: 'user-1', more: 'x'.repeat(3072) })],
        ['a changed claim', `${head}.${changed}.${signature}`],
        ['a truncated signature', valid.slice(0, -4)],
        ['no signature', `${head}.${claims}.`],
        ['two parts', `${head}.${claims}`],
        ['four parts', `${valid}.${signature}`],
        ['claims that are no JSON', `${head}.${Buffer.from('{').toString('base64url')}.${signature}`],
        ['claims that are a list', `${head}.${encoded([])}.${signature}`],
        ['nothing but dots', '..'],
      ],
      async (_, token) => expectError(await get('/v1/recordings', token), 'AuthenticationError'),
    );
  });

  it('belong to one account: that of another with the same issuer and keys gets none of them', async () => {
    const other = await service.account();
    await register({ allows: ['read'] });
    await register({ allows: ['read'] }, other);
    const token = await tokenOf();
    await upload(token).expect(201);
    expect((await other.get('/v1/recordings').expect(200)).body.total).toBe(0);
    expectError(await get('/v1/recordings', token).set(other.headers), 'AuthenticationError');
    // Beside a key pair of the account the scopes of the key pair apply.
    await get('/v1/account', token).set(client.headers).expect(200);
  });

  it('end with their issuer, at the next request', async () => {
    const id = await register({ allows: ['read'] });
    const token = await tokenOf();
    await get('/v1/recordings', token).expect(200);
    await client.put(`${ISSUERS}/${id}`, { issuer: ISSUER, keys: publicKeys }).expect(200);
    expectError(await get('/v1/recordings', token), 'PermissionError', { required_scope: 'recordings:read' });
    await client.delete(`${ISSUERS}/${id}`).expect(204);
    expectError(await upload(token), 'AuthenticationError');
    await register();
    await upload(token).expect(201);
  });

  it('list, read and delete what is their end user’s, and nothing else', async () => {
    await register({ allows: ['read', 'delete'] });
    const [mine, theirs] = [await tokenOf(), await tokenOf({ sub: 'user-2' })];
    const { body: own } = await upload(mine).expect(201);
    const { body: other } = await upload(theirs).expect(201);
    const { body: nobodys } = await client.upload(silenceWav(0.1)).expect(201);
    await transcribe(service, own.id);

    for (const query of ['', '?user_id=user-1', '?status=transcribed', '?include=title']) {
      const { body } = await get(`/v1/recordings${query}`, mine).expect(200);
      expect([body.total, body.recordings.map(({ id }: { id: string }) => id)]).toEqual([1, [own.id]]);
    }
    expect((await get('/v1/recordings?tag.a=b', mine).expect(200)).body.recordings).toEqual([]);
    expect((await get('/v1/recordings?user_id=user-2', mine)).status).toBe(403);
    for (const path of ['', '/transcription', '/audio']) await get(own.uri + path, mine).expect(200);
    for (const { uri } of [other, nobodys]) {
      for (const path of ['', '/transcription', '/audio']) expectError(await get(uri + path, mine), 'NotFoundError');
      expectError(await request(service.url).delete(uri).set(by(mine).headers), 'NotFoundError');
      await client.get(uri).expect(200);
    }
    await request(service.url).delete(own.uri).set(by(mine).headers).expect(204);
    await client.get(own.uri).expect(404);
  });

  it('reach nothing of others with any operation', async () => {
    await register({ allows: ['read', 'delete'] });
    const [token, ids] = [await tokenOf(), await createResources(service, client, { needs: 'transcribed' })];
    const statuses: Record<string, number> = {};
    for (const operation of OPERATIONS) {
      const answer = await call(by(token), operation, ids);
      statuses[nameOf(operation)] = answer.status;
      if (answer.status < 400) expect(JSON.stringify(answer.body)).not.toContain(ids.recording_id);
    }
    const others = Object.entries(statuses).filter(([, status]) => status !== 403);
    expect(Object.fromEntries(others)).toEqual({
      'GET /v1/recordings': 200,
      'POST /v1/recordings': 201,
      'GET /v1/recordings/:recording_id': 404,
      'GET /v1/recordings/:recording_id/transcription': 404,
      'GET /v1/recordings/:recording_id/audio': 404,
      'DELETE /v1/recordings/:recording_id': 404,
    });
    await client.get(`/v1/recordings/${ids.recording_id}`).expect(200);
  });
});

describe('Keys behind a URL (D94)', () => {
  let server: Server;
  let url: string;
  let requests: number;

  beforeEach(async () => {
    requests = 0;
    server = createServer((_, response) => {
      requests++;
      response.end(JSON.stringify({ keys: publicKeys }));
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`;
    await register({ keys: undefined, jwks_url: url });
  });

  afterEach(() => new Promise((resolve) => void server.close(resolve)));

  it('are fetched once for many tokens, and not for those that cannot be right', async () => {
    expectError(await upload(await tokenOf({ iss: 'other' })), 'AuthenticationError');
    expectError(await upload(await tokenOf({ aud: randomUUID() })), 'AuthenticationError');
    expect(requests).toBe(0);
    const tokens = await Promise.all(['a', 'b', 'c'].map((sub) => tokenOf({ sub })));
    await Promise.all(tokens.map((token) => upload(token).expect(201)));
    for (let i = 0; i < 5; i++) expectError(await upload(await tokenOf({}, { kid: `${i}` })), 'AuthenticationError');
    expect(requests).toBe(1);
  });

  it('cannot be had: 401, and other callers notice nothing', async () => {
    await new Promise((resolve) => void server.close(resolve));
    expectError(await upload(await tokenOf()), 'AuthenticationError');
    await client.get('/v1/account').expect(200);
    server.listen(0);
  });
});
