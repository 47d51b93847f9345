import request, { type Test } from 'supertest';
import { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { expectError, expectInvalid } from '../../support/http/expect-errors.js';
import { call, OPERATIONS } from '../../support/http/operations.js';

const KEYS = '/v1/account/api-keys';
const OFFICE = ['203.0.113.0/24', '2001:db8::/32'];
const INSIDE = '203.0.113.9';
const OUTSIDE = '198.51.100.7';

const service = useService({ ROLES: 'api', TRUST_PROXY: '1' });
let client: ApiClient;
let keyId: string;
let limited: ApiClient;

beforeEach(async () => {
  client = await service.account();
  ({ id: keyId, caller: limited } = await create({ allowed_addresses: OFFICE }));
});

async function create(
  body: object,
  by: (path: string, body: object) => Test = (path, sent) => client.post(path, sent),
) {
  const { body: created } = await by(KEYS, { name: 'A key', ...body }).expect(201);
  const { id, api_key: key, api_secret: secret } = created;
  return { id, caller: new ApiClient(service.url, client.accountId, { id, key, secret }) };
}

const from = (address: string, asked: Test): Test => asked.set('X-Forwarded-For', address);

describe('Addresses of API keys (D95)', () => {
  it('a key works from its networks, in both families, and from nowhere else: 403 with the address', async () => {
    for (const address of [INSIDE, `::ffff:${INSIDE}`, '2001:db8:1::9'])
      await from(address, limited.get('/v1/account')).expect(200);
    for (const address of [OUTSIDE, '203.0.114.9', '2001:db9::9']) {
      const answer = await from(address, limited.get('/v1/account'));
      expectError(answer, 'AddressNotAllowedError', { address });
      expect(answer.headers).not.toHaveProperty('x-service-scopes');
    }
    // The peer itself counts where no proxy names another address.
    expect((await limited.get('/v1/account')).status).toBe(403);
  });

  it('takes only what the proxy says, not what the client claims before it', async () => {
    expectError(await from(`${INSIDE}, ${OUTSIDE}`, limited.get('/v1/account')), 'AddressNotAllowedError', {
      address: OUTSIDE,
    });
  });

  it('holds for every operation', async () => {
    const ids = {
      key_id: keyId,
      token_issuer_id: keyId,
      webhook_id: keyId,
      delivery_id: keyId,
      recording_id: keyId,
      share_id: keyId,
      user_id: 'user-1',
    };
    for (const operation of OPERATIONS) {
      const { status } = await from(OUTSIDE, call(limited, operation, ids));
      expect([operation.method, operation.path, status]).toEqual([operation.method, operation.path, 403]);
    }
    await from(OUTSIDE, limited.post('/mcp', {})).expect(403);
  });

  it('is a 401 for a wrong secret, from wherever it comes', async () => {
    const { id, key } = limited.credentials;
    const guess = new ApiClient(service.url, client.accountId, { id, key, secret: client.credentials.secret });
    for (const address of [INSIDE, OUTSIDE])
      expectError(await from(address, guess.get('/v1/account')), 'AuthenticationError');
  });

  it('counts no use from elsewhere', async () => {
    await from(OUTSIDE, limited.get('/v1/account')).expect(403);
    await from(INSIDE, limited.get('/v1/account')).expect(200);
    const uses = await eventually(async () => (await client.get(`${KEYS}/${keyId}`)).body.usage_count || null);
    expect(uses).toBe(1);
  });

  it('is shown of keys that have some, and of no other', async () => {
    const { body } = await client.get(`${KEYS}/${keyId}`).expect(200);
    expect(body.allowed_addresses).toEqual(OFFICE);
    const { body: list } = await client.get(KEYS).expect(200);
    expect(list.api_keys[0].allowed_addresses).toEqual(OFFICE);
    expect(list.api_keys[1]).not.toHaveProperty('allowed_addresses');
  });

  it('passes to the keys that a key makes, which may have fewer and never more', async () => {
    const make = (path: string, body: object): Test => from(INSIDE, limited.post(path, body));
    const [same, fewer] = [await create({}, make), await create({ allowed_addresses: ['203.0.113.128/25'] }, make)];
    const addressesOf = async (id: string) => (await client.get(`${KEYS}/${id}`).expect(200)).body.allowed_addresses;
    expect(await addressesOf(same.id)).toEqual(OFFICE);
    expect(await addressesOf(fewer.id)).toEqual(['203.0.113.128/25']);
    for (const more of [['203.0.112.0/23'], ['203.0.113.0/24', '0.0.0.0/0'], ['::/0']]) {
      const answer = await make(KEYS, { name: 'x', allowed_addresses: more });
      expectInvalid(answer, 'allowed_addresses', /must lie within those of the key that creates it/);
    }
  });

  it('leaves access tokens of the key to their end users, wherever they are', async () => {
    const asked = limited.post('/v1/account/access-tokens', { identity: 'user-1' });
    const { body } = await from(INSIDE, asked).expect(201);
    const upload = request(service.url).post('/v1/recordings').attach('file', silenceWav(0.1), 'note.wav');
    await from(OUTSIDE, upload.set('Authorization', `Bearer ${body.token}`)).expect(201);
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['none', []],
    ['an address without a prefix', ['203.0.113.9']],
    ['an address with bits behind its prefix', ['203.0.113.9/24']],
    ['the same twice', [OFFICE[0], OFFICE[0]]],
    ['21', Array.from({ length: 21 }, (_, index) => `10.0.${index}.0/24`)],
  ])('refuses %s', async (_, allowed) => {
    const answer = await client.post(KEYS, { name: 'x', allowed_addresses: allowed });
    expectInvalid(answer, 'allowed_addresses', /must/);
  });
});

describe('Warnings of API keys (D95)', () => {
  it('are told only when they are asked for, and only of active keys', async () => {
    const in13Days = new Date(Date.now() + 13 * 86_400_000).toISOString();
    const { id: soon } = await create({ expires_at: in13Days });
    await service.database.query(`UPDATE api_keys SET created_at = now() - interval '91 days' WHERE id = $1`, [keyId]);

    const { body } = await client.get(`${KEYS}?include=warnings`).expect(200);
    const found = Object.fromEntries(body.api_keys.map((key: Record<string, unknown>) => [key['id'], key['warnings']]));
    expect(found).toEqual({ [soon]: ['expires_soon'], [keyId]: ['unused'], [client.credentials.id]: [] });
    expect((await client.get(`${KEYS}/${keyId}?include=warnings`).expect(200)).body.warnings).toEqual(['unused']);
    expect((await client.get(`${KEYS}/${keyId}`).expect(200)).body).not.toHaveProperty('warnings');
    expectInvalid(await client.get(`${KEYS}?include=secrets`), 'include');
  });
});
