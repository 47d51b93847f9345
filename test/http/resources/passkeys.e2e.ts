import { randomUUID } from 'node:crypto';
import type { Response, Test } from 'supertest';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { checkRows } from '../../support/check-rows.js';
import { expectError, expectHeaders, expectInvalid } from '../../support/http/expect-errors.js';
import {
  clientOf,
  fromElsewhere,
  invitationFor,
  invite,
  linkFor,
  PASSWORD,
  type SessionClient,
  signIn,
} from '../../support/http/session-client.js';
import { type Deviations, SoftwareAuthenticator } from '../../support/http/software-authenticator.js';

const PASSKEYS = '/v1/session/passkeys';
const HOST = 'notes.example.com';
const ORIGIN = `https://${HOST}`;

const service = useService({ ROLES: 'api', TRUST_PROXY: '1' });
let key: ApiClient;
let ada: SessionClient;
let authenticator: SoftwareAuthenticator;

beforeEach(async () => {
  key = await service.account();
  ada = await member();
  authenticator = new SoftwareAuthenticator(ORIGIN);
});

const emailOf = (name: string): string => `${name}-${randomUUID()}@example.com`;
/** As one who signed in with a password, without the time that its hash takes. */
async function member(accountId = key.accountId): Promise<SessionClient> {
  const client = await signIn(service, accountId, { email: emailOf('ada') });
  await service.database.query(`UPDATE sessions SET began_with = 'password' WHERE id = $1`, [client.session.id]);
  return client;
}
/** The page is at that address, whatever the one of the process. */
const at = (test: Test, host = HOST): Test => test.set('Host', host);
const post = (who: SessionClient, path: string, body: object = {}): Test => at(who.send('post', path, body));
const creationOptions = async (who = ada, host = HOST) =>
  (await at(who.send('post', `${PASSKEYS}/options`, {}), host).expect(200)).body.public_key;
const add = (credential: object, who = ada, name = 'Laptop'): Test => post(who, PASSKEYS, { name, credential });
async function added(who = ada, by = authenticator): Promise<{ id: string }> {
  return (await add(by.create(await creationOptions(who)), who).expect(201)).body;
}
const anybody = (path: string, body: object = {}, host = HOST): Test => at(fromElsewhere(service, path, body), host);
const requestOptions = async (host = HOST) =>
  (await anybody('/v1/sessions/passkey-options', {}, host).expect(200)).body.public_key;
const begin = (credential: object): Test => anybody('/v1/sessions/passkey', { credential });
const signInWith = async (deviations: Deviations = {}, by = authenticator): Promise<Response> =>
  begin(by.get(await requestOptions(), deviations));
const list = async (who = ada) => (await who.get(PASSKEYS).expect(200)).body.passkeys;
/** In the order in which they happened. */
const actions = async (client = key): Promise<string[]> =>
  (await client.get('/v1/account/audit-log').expect(200)).body.entries
    .map(({ action }: { action: string }) => action)
    .filter((action: string) => !/^(account|api_key|member|sign_in_link)\./.test(action))
    .toReversed();

describe('A passkey (D103)', () => {
  it.each(['ES256', 'RS256'] as const)('is added and signs in without a name: %s', async (algorithm) => {
    authenticator = new SoftwareAuthenticator(ORIGIN, true, algorithm);
    const options = await creationOptions();
    const { person } = ada.session;
    expect(options).toEqual({
      challenge: expect.stringMatching(/^[\w-]{43}$/),
      rp: { id: HOST, name: 'Voice notes' },
      user: { id: expect.stringMatching(/^[\w-]{22}$/), name: person.email, displayName: 'Ada Byron' },
      pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: 'public-key', alg })),
      timeout: 300_000,
      excludeCredentials: [],
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      attestation: 'none',
    });
    const answer = await add(authenticator.create(options)).expect(201);
    expectHeaders(answer);
    const passkey = { id: answer.body.id, name: 'Laptop', created_at: expect.any(String), last_used_at: null };
    expect(answer.body).toEqual(passkey);
    expect(await list()).toEqual([passkey]);

    const asked = await requestOptions();
    expect(asked).toEqual({
      challenge: expect.stringMatching(/^[\w-]{43}$/),
      rpId: HOST,
      timeout: 300_000,
      userVerification: 'required',
    });
    const signedIn = await begin(authenticator.get(asked)).expect(201);
    expect(signedIn.headers['set-cookie']).toEqual([
      expect.stringMatching(/^__Host-vnotes-session=vnss_[\w-]{43}; .*; Secure; HttpOnly; SameSite=Strict$/),
    ]);
    expect(signedIn.body).toMatchObject({ began_with: 'passkey', person: { id: person.id }, role: 'owner' });
    const client = clientOf(service.url, signedIn);
    expect((await client.get('/v1/session').expect(200)).body).toEqual(signedIn.body);
    await client.get('/v1/recordings').expect(200);
    expect(await list(client)).toMatchObject([{ id: passkey.id, last_used_at: expect.any(String) }]);
    await client.send('delete', '/v1/session').expect(204);
    expectError(await client.get('/v1/session'), 'AuthenticationError');
  });

  it('is renamed and removed, and signs in nobody then; entries of the audit log have no name', async () => {
    const { id } = await added();
    const path = `${PASSKEYS}/${id}`;
    expect((await ada.send('patch', path, { name: 'Phone of Ada' }).expect(200)).body).toMatchObject({
      id,
      name: 'Phone of Ada',
    });
    await ada.send('patch', path, { name: 'Phone of Ada' }).expect(200);
    expect((await signInWith()).status).toBe(201);
    await ada.send('delete', path).expect(204);
    expect(await list()).toEqual([]);
    expectError(await signInWith(), 'AuthenticationError');
    expectError(await ada.send('delete', path), 'NotFoundError');
    expect(await actions()).toEqual([
      'session.begun',
      'passkey.added',
      'passkey.updated',
      'session.begun',
      'passkey.removed',
    ]);
    const entries = (await key.get('/v1/account/audit-log?action=passkey.removed').expect(200)).body.entries;
    expect(entries).toMatchObject([
      {
        actor: { kind: 'person', person_id: ada.session.person.id },
        targets: [
          { type: 'passkey', id },
          { type: 'person', id: ada.session.person.id },
        ],
      },
    ]);
    expect(JSON.stringify(await service.database.query('SELECT * FROM audit_entries'))).not.toContain('Phone of Ada');
  });

  it('is one’s own: others neither see it nor change it', async () => {
    const { id } = await added();
    const other = await member();
    expect(await list(other)).toEqual([]);
    for (const wanted of [id, randomUUID(), 'x', id.toUpperCase()]) {
      expectError(await other.send('patch', `${PASSKEYS}/${wanted}`, { name: 'Mine' }), 'NotFoundError');
      expectError(await other.send('delete', `${PASSKEYS}/${wanted}`), 'NotFoundError');
    }
    const taken = await add(authenticator.create(await creationOptions(other)), other);
    expectError(taken, 'ConflictError');
    expect(await list()).toMatchObject([{ id, name: 'Laptop' }]);
    expect((await creationOptions()).excludeCredentials).toEqual([
      { type: 'public-key', id: authenticator.id.toString('base64url'), transports: ['internal', 'hybrid'] },
    ]);
  });

  it('is one of 20 at most', async () => {
    await service.database.query(
      `INSERT INTO passkeys (id, person_id, credential_id, public_key, counter, transports, name, created_at)
       SELECT gen_random_uuid(), $1, gen_random_uuid()::text, '', 0, '{}', 'Key', now() FROM generate_series(1, 19)`,
      [ada.session.person.id],
    );
    const [first, second] = [await creationOptions(), await creationOptions()];
    await add(authenticator.create(first)).expect(201);
    const another = new SoftwareAuthenticator(ORIGIN).create(second);
    expectError(await add(another), 'LimitExceededError', { maximum: 20 });
    expectError(await post(ada, `${PASSKEYS}/options`), 'LimitExceededError', { maximum: 20 });
    expect((await ada.get(`${PASSKEYS}?limit=2&page=9`).expect(200)).body).toMatchObject({ page_size: 2, total: 20 });
  });
});

describe('Who may add a passkey', () => {
  it('takes the password in a session that began over ten minutes ago', async () => {
    const ben = await invite(service, ada, { email: emailOf('ben'), role: 'viewer' });
    const ask = (body: object) => post(ben, `${PASSKEYS}/options`, body);
    await ask({}).expect(200);
    expectInvalid(await ask({ current_password: 'three green kites over Oslo' }), 'current_password', /^is not the/);
    await service.database.query(`UPDATE sessions SET created_at = now() - interval '11 minutes' WHERE id = $1`, [
      ben.session.id,
    ]);
    expectInvalid(await ask({}), 'current_password', /^is required/);
    const { body } = await ask({ current_password: PASSWORD }).expect(200);
    await add(authenticator.create(body.public_key), ben).expect(201);
  });

  it('is nobody whose session began with a link, or who signs in with an OpenID provider, nor an API key', async () => {
    await service.database.query(`UPDATE sessions SET began_with = 'link' WHERE id = $1`, [ada.session.id]);
    expectError(await post(ada, `${PASSKEYS}/options`), 'PermissionError');
    const ben = await member();
    const options = await creationOptions(ben);
    await add(authenticator.create(options), ben).expect(201);
    await service.database.query(
      `INSERT INTO identities (id, person_id, issuer, subject, created_at)
       VALUES (gen_random_uuid(), $1, 'https://login.example.com', $2, now())`,
      [ben.session.person.id, randomUUID()],
    );
    expectError(await post(ben, `${PASSKEYS}/options`), 'PermissionError');
    expectError(await signInWith(), 'AuthenticationError');
    for (const answer of [
      await key.get(PASSKEYS),
      await key.post(`${PASSKEYS}/options`, {}),
      await key.post(PASSKEYS, { name: 'Laptop', credential: authenticator.create(options) }),
      await key.patch(`${PASSKEYS}/${randomUUID()}`, { name: 'Laptop' }),
      await key.delete(`${PASSKEYS}/${randomUUID()}`),
    ])
      expectError(answer, 'PermissionError');
  });

  it('is no page of another origin', async () => {
    const { id } = await added();
    const credential = authenticator.create(await creationOptions());
    const asks: [string, () => Test][] = [
      ['options', () => post(ada, `${PASSKEYS}/options`)],
      ['add', () => add(credential)],
      ['rename', () => ada.send('patch', `${PASSKEYS}/${id}`, { name: 'Mine' })],
      ['remove', () => ada.send('delete', `${PASSKEYS}/${id}`)],
    ];
    await checkRows(asks, async (_, ask) => {
      for (const site of ['cross-site', 'same-site', 'none'])
        expectError(await ask().set('Sec-Fetch-Site', site), 'PermissionError');
    });
    expect(await list()).toMatchObject([{ id, name: 'Laptop' }]);
  });
});

describe('What is refused', () => {
  const certificates = new Map([['x5c', [Buffer.from('certificate')]]]);

  it.each<[string, Deviations]>([
    ['another origin', { origin: 'https://evil.example' }],
    ['a subdomain', { origin: `https://sub.${HOST}` }],
    ['another port', { origin: `${ORIGIN}:8443` }],
    ['a page without TLS', { origin: `http://${HOST}` }],
    ['another relying party', { rpId: 'example.com' }],
    ['a signature for a sign-in', { type: 'webauthn.get' }],
    ['an invented challenge', { challenge: 'Tm52cGN5bVp0eg1sR2tqU3hEd0JqYXZ2b1FkZ2Z5Y0E' }],
    ['no user verification', { isUserVerified: false }],
    ['no user', { isUserPresent: false }],
    ['another id', { id: 'QzN2k1sYd0uTqJ8mX4vW7g' }],
    ['certificates, which name addresses', { attestation: { format: 'packed', statement: certificates } }],
    ['an attestation of Android', { attestation: { format: 'android-safetynet', statement: new Map() } }],
    ['an unknown attestation', { attestation: { format: 'x', statement: new Map() } }],
  ])('a new passkey with %s', async (_, deviations) => {
    const credential = authenticator.create(await creationOptions(), deviations);
    expectInvalid(await add(credential), 'credential', /^must answer options of this session/);
    expect(await list()).toEqual([]);
  });

  it('a new passkey for a challenge of a sign-in, of another session, that was used or is too old', async () => {
    const ben = await member();
    const ofBen = await creationOptions(ben);
    const own = await creationOptions();
    const ofSignIn = { ...own, challenge: (await requestOptions()).challenge };
    for (const options of [ofBen, ofSignIn])
      expectInvalid(await add(authenticator.create(options)), 'credential', /^must answer/);
    // A wrong answer uses it up, too.
    expectInvalid(await add(authenticator.create(own, { rpId: 'example.com' })), 'credential', /^must answer/);
    expectInvalid(await add(authenticator.create(own)), 'credential', /^must answer/);
    await add(authenticator.create(ofBen), ben).expect(201);
    expectInvalid(await add(new SoftwareAuthenticator(ORIGIN).create(ofBen), ben), 'credential', /^must answer/);
  });

  it('bad input, with the field and the rule', async () => {
    const credential = authenticator.create(await creationOptions()) as Record<string, object>;
    const response = credential['response'] as object;
    await checkRows<[string, unknown, RegExp]>(
      [
        ['none', undefined, /^is required/],
        ['text', 'x', /^must be an object/],
        ['a list', [], /^must be an object/],
        ['no id', { ...credential, id: undefined }, /^must have the same id and rawId/],
        ['two ids', { ...credential, rawId: 'x' }, /^must have the same id and rawId/],
        ['another type', { ...credential, type: 'password' }, /^must have the type public-key/],
        ['no response', { ...credential, response: null }, /^must have a response/],
        [
          'no object',
          { ...credential, response: { ...response, attestationObject: 1 } },
          /response\.attestationObject/,
        ],
        ['too much', { ...credential, response: { ...response, clientDataJSON: 'x'.repeat(9000) } }, /clientDataJSON/],
        ['transports', { ...credential, response: { ...response, transports: [1] } }, /response\.transports/],
        ['no JSON', { ...credential, response: { ...response, clientDataJSON: 'eHg' } }, /^must answer/],
        ['null', { ...credential, response: { ...response, clientDataJSON: 'bnVsbA' } }, /^must answer/],
      ],
      async (_, wrong, reason) => {
        expectInvalid(await post(ada, PASSKEYS, { name: 'Laptop', credential: wrong }), 'credential', reason);
      },
    );
    expectInvalid(await anybody('/v1/sessions/passkey', { credential: { ...credential } }), 'credential', /response\./);
    expectInvalid(await post(ada, PASSKEYS, { name: '', credential }), 'name');
    expectInvalid(await post(ada, `${PASSKEYS}/options`, { current_password: 1 }), 'current_password');
    await add(credential).expect(201);
  });

  it.each<[string, Deviations]>([
    ['another origin', { origin: 'https://evil.example' }],
    ['another relying party', { rpId: 'example.com' }],
    ['a signature of a registration', { type: 'webauthn.create' }],
    ['an invented challenge', { challenge: 'Tm52cGN5bVp0eg1sR2tqU3hEd0JqYXZ2b1FkZ2Z5Y0E' }],
    ['no user verification', { isUserVerified: false }],
    ['no user', { isUserPresent: false }],
    ['another signature', { hasOtherSignature: true }],
    ['somebody else', { userHandle: 'AZqlxwobfC2OP0pbbH2Onw' }],
    ['an unknown id', { id: 'QzN2k1sYd0uTqJ8mX4vW7g' }],
  ])('a sign-in with %s, always in the same words', async (_, deviations) => {
    await added();
    const refused = await signInWith(deviations);
    expectError(refused, 'AuthenticationError');
    expect(refused.headers['set-cookie']).toBeUndefined();
    const stranger = await signInWith({}, new SoftwareAuthenticator(ORIGIN));
    expect(refused.body).toEqual(stranger.body);
    expect((await signInWith()).status).toBe(201);
  });

  it('a signature that was used, also by several at the same time, or that answers a registration', async () => {
    await added();
    const used = authenticator.get(await requestOptions());
    const tries = await Promise.all([begin(used), begin(used), begin(used)]);
    expect(tries.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 401, 401]);
    expectError(await begin(used), 'AuthenticationError');
    const { challenge } = await creationOptions();
    expectError(await begin(authenticator.get({ challenge, rpId: HOST })), 'AuthenticationError');
  });

  it('a counter that does not go on, but of an authenticator that never counts', async () => {
    await added();
    expect((await signInWith({ counter: 7 })).status).toBe(201);
    for (const counter of [7, 6, 0]) expectError(await signInWith({ counter }), 'AuthenticationError');
    expect((await signInWith({ counter: 8 })).status).toBe(201);

    const ben = await member();
    const synced = new SoftwareAuthenticator(ORIGIN, false);
    await added(ben, synced);
    for (let i = 0; i < 2; i++) expect((await signInWith({}, synced)).status).toBe(201);
    // Both have read the counter before either has written it.
    const counted = await Promise.all([signInWith({ counter: 9 }), signInWith({ counter: 9 })]);
    expect(counted.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 401]);
  });

  it('after a number of attempts, for one client alone', async () => {
    await added();
    const attempt = (address: string) =>
      at(
        fromElsewhere(service, '/v1/sessions/passkey', {
          credential: authenticator.get({ challenge: 'x', rpId: HOST }),
        }),
      )
        .set('X-Forwarded-For', address)
        .then(({ status }) => status);
    const statuses = await Promise.all(Array.from({ length: 80 }, () => attempt('2001:db8:ffff::1')));
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
    expect(await attempt('2001:db8:fffe::1')).toBe(401);
  });
});

describe('The address of the service', () => {
  it('is that of the request, with any port, and without TLS on this machine alone', async () => {
    const local = new SoftwareAuthenticator('http://localhost:3000');
    const options = await creationOptions(ada, 'localhost:3000');
    expect(options.rp.id).toBe('localhost');
    const created = { name: 'Laptop', credential: local.create(options) };
    await at(ada.send('post', PASSKEYS, created), 'localhost:3000').expect(201);
    const credential = local.get(await requestOptions('localhost:3000'));
    await anybody('/v1/sessions/passkey', { credential }, 'localhost:3000').expect(201);
    // Elsewhere the same signature is worth nothing.
    const other = local.get(await requestOptions('localhost:3000'));
    expectError(await anybody('/v1/sessions/passkey', { credential: other }), 'AuthenticationError');
  });
});

describe('Passkeys and members', () => {
  it('sign in nobody who was removed; with the last membership they are gone', async () => {
    const ben = await invite(service, ada, { email: emailOf('ben'), role: 'viewer' });
    const { id } = await added(ben);
    const client = clientOf(service.url, await signInWith());
    const second = await startService(service.environment, { ROLES: 'api' });
    for (const each of [client, client.at(second.url)]) await each.get('/v1/recordings').expect(200);
    await ada.send('delete', `/v1/account/members/${ben.session.memberships[0]?.id}`).expect(204);
    for (const each of [client, client.at(second.url)])
      expectError(await each.get('/v1/recordings'), 'AuthenticationError');
    expectError(await signInWith(), 'AuthenticationError');
    expect(await service.database.query('SELECT FROM passkeys WHERE id = $1', [id])).toEqual([]);
  });

  it('leave their entries in each account of the person, and open all of them', async () => {
    const other = await service.account();
    const otto = await member(other.accountId);
    const link = await invitationFor(otto, { email: emailOf('ada'), role: 'viewer' });
    await ada.send('post', '/v1/session/memberships', { link }).expect(201);
    await added();
    for (const client of [key, other]) expect(await actions(client)).toContain('passkey.added');
    const client = clientOf(service.url, await signInWith());
    await client.send('patch', '/v1/session', { account_id: other.accountId }).expect(200);
  });

  it('end with a password that a link has replaced: whoever made the link may have added them', async () => {
    await added();
    const link = await linkFor(service, key.accountId, { email: ada.session.person.email });
    const byLink = clientOf(service.url, await anybody('/v1/sessions', { link }).expect(201));
    const signedIn = clientOf(service.url, await signInWith());
    await byLink.send('patch', '/v1/session/person', { password: PASSWORD }).expect(200);
    expect(await list(byLink)).toEqual([]);
    expectError(await signInWith(), 'AuthenticationError');
    expectError(await signedIn.get('/v1/session'), 'AuthenticationError');
    expect(await actions()).toContain('passkey.removed');
    // One’s own change keeps them.
    const { email } = ada.session.person;
    const again = clientOf(service.url, await anybody('/v1/sessions', { email, password: PASSWORD }).expect(201));
    await added(again);
    const change = { password: 'four grey geese at dawn', current_password: PASSWORD };
    await again.send('patch', '/v1/session/person', change).expect(200);
    expect(await list(again)).toHaveLength(1);
  });
});
