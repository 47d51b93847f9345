import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { get as httpGet } from 'node:http';
import request from 'supertest';
import { SCOPES } from '../../../src/access/scopes.js';
import { CredentialVersionsService } from '../../../src/access/credential-versions.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { startService, type TestService, useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { checkRows } from '../../support/check-rows.js';
import { expectError, expectErrorOf, expectHeaders, expectInvalid } from '../../support/http/expect-errors.js';
import { call, createResources, nameOf, OPERATIONS } from '../../support/http/operations.js';
import { clientOf, linkFor, PASSWORD, type SessionClient, signIn } from '../../support/http/session-client.js';

const service = useService({ ROLES: 'api', TRUST_PROXY: '1' });
let owner: ApiClient;
let accountId: string;
let email: string;

beforeEach(async () => {
  owner = await service.account();
  ({ accountId } = owner);
  email = `ada-${randomUUID()}@example.com`;
});

/** As somebody whose browser has no session. Each test has an address of its own, so that attempts of others do not count. */
const attempt = (body: object, address = `2001:db8:${randomHex()}::1`) =>
  request(service.url).post('/v1/sessions').set('X-Forwarded-For', address).send(body);
const randomHex = () => randomUUID().slice(0, 4);

async function withPassword(role: 'owner' | 'viewer' = 'owner'): Promise<SessionClient> {
  const session = await signIn(service, accountId, { email, role });
  await session.send('patch', '/v1/session/person', { password: PASSWORD }).expect(200);
  return session;
}

describe('A session (D97)', () => {
  it('begins with a link, once, in a cookie that only this host can set and only its own pages send', async () => {
    const link = await linkFor(service, accountId, { email });
    const answer = await attempt({ link }).expect(201);
    expectHeaders(answer);
    const [cookie] = answer.headers['set-cookie'] as unknown as string[];
    expect(cookie).toMatch(
      /^__Host-vnotes-session=vnss_[\w-]{43}; Max-Age=\d{7}; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
    );
    const { body: account } = await owner.get('/v1/account').expect(200);
    const { person, memberships, ...session } = answer.body;
    expect(person).toEqual({ id: expect.any(String), name: 'Ada Byron', email, has_password: false });
    const member = { account_id: accountId, account_name: account.name, role: 'owner' };
    expect(memberships).toEqual([{ id: expect.any(String), ...member }]);
    expect(session).toMatchObject({ ...member, scopes: SCOPES, began_with: 'link' });
    const client = clientOf(service.url, answer);
    expect((await client.get('/v1/session').expect(200)).body).toEqual(answer.body);
    expectError(await attempt({ link }), 'AuthenticationError');
    const rows = JSON.stringify(await service.database.query('SELECT * FROM sessions'));
    expect(rows).not.toContain(client.cookie.split('=')[1]);
  });

  it('begins with a password; a wrong one and an address that nobody has get the same answer', async () => {
    await withPassword();
    const signedIn = await attempt({ email: email.toUpperCase(), password: PASSWORD }).expect(201);
    expect(signedIn.body.person.email).toBe(email);
    const wrong = await attempt({ email, password: 'three green kites over Oslo' });
    const unknown = await attempt({ email: `nobody-${email}`, password: PASSWORD });
    expectError(wrong, 'AuthenticationError');
    expect(unknown.body).toEqual(wrong.body);
    const stored = await service.database.query('SELECT * FROM people WHERE email = $1', [email]);
    expect(JSON.stringify(stored)).not.toContain('kites');
  });

  it('tells people with one e-mail address apart by their passwords, which have one salt', async () => {
    const other = await service.account();
    const first = await withPassword();
    const second = await signIn(service, other.accountId, { email: email.toUpperCase(), name: 'Ben' });
    await second.send('patch', '/v1/session/person', { password: 'four grey geese at dawn' }).expect(200);
    expect((await attempt({ email, password: PASSWORD }).expect(201)).body.person.id).toBe(first.session.person.id);
    const ofSecond = await attempt({ email, password: 'four grey geese at dawn' }).expect(201);
    expect(ofSecond.body).toMatchObject({ person: { name: 'Ben' }, account_id: other.accountId });
    const salts = await service.database.query(
      'SELECT DISTINCT password_salt FROM people WHERE lower(email) = lower($1)',
      [email],
    );
    expect(salts).toHaveLength(1);
  });

  it.each([
    [{}, 'link'],
    [{ email: 'ada@example.com' }, 'link'],
    [{ email: 'ada@example.com', password: PASSWORD, link: 'vnl_x' }, 'link'],
    [{ email: 'ada@example.com', link: 'vnl_x' }, 'link'],
    [{ email: 7, password: PASSWORD }, 'email'],
    [{ email: 'ada@example.com', password: 'x'.repeat(201) }, 'password'],
  ])('does not begin with %j: 400', async (body, field) => {
    expectInvalid(await attempt(body), field);
  });

  it('may do what the role of its person allows, as a key with these scopes', async () => {
    const viewer = await signIn(service, accountId, { email, role: 'viewer' });
    const editor = await signIn(service, accountId, { email: `b-${email}`, role: 'editor' });
    const admin = await signIn(service, accountId, { email: `c-${email}`, role: 'admin' });
    const upload = (by: SessionClient) => by.send('post', '/v1/recordings').attach('file', silenceWav(0.1), 'note.wav');
    expect((await viewer.get('/v1/recordings').expect(200)).headers['x-service-scopes']).toBe('recordings:read');
    expectError(await upload(viewer), 'PermissionError', { required_scope: 'recordings:write' });
    await upload(editor).expect(201);
    expectError(await editor.get('/v1/account'), 'PermissionError', { required_scope: 'account:read' });
    await admin.get('/v1/account').expect(200);
    const { body: key } = await admin.send('post', '/v1/account/api-keys', { name: 'Backend' }).expect(201);
    const { body: read } = await owner.get(`/v1/account/api-keys/${key.id}?include=creator`).expect(200);
    expect(read).toMatchObject({ created_by: null, created_by_person: admin.session.person.id });
    expect((await owner.get(`/v1/account/api-keys/${key.id}`)).body).not.toHaveProperty('created_by_person');
  });

  it('is no API key: it makes no sign-in codes and access tokens, and opens no MCP connection', async () => {
    const session = await signIn(service, accountId, { email });
    for (const [path, body, scope] of [
      ['/v1/account/sign-in-codes', undefined, 'account:read'],
      ['/v1/account/access-tokens', { identity: 'user-1' }, 'recordings:write'],
    ] as const)
      expectError(await session.send('post', path, body), 'PermissionError', { required_scope: scope });
    await session.send('post', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }).expect(403);
    for (const path of ['/v1/session', '/v1/sessions']) expectError(await owner.get(path), 'PermissionError');
    expectError(await request(service.url).get('/v1/session'), 'AuthenticationError');
  });

  it('counts only where no other credential is sent', async () => {
    const session = await signIn(service, accountId, { email });
    const stranger = await service.account();
    const { body } = await request(service.url)
      .get('/v1/account')
      .set({ ...session.headers, ...stranger.headers });
    expect(body.id).toBe(stranger.accountId);
    expectError(await session.get('/v1/account').set('Authorization', 'Bearer nothing'), 'AuthenticationError');
  });
});

describe('Pages of other origins', () => {
  it('can do nothing with a session: every unsafe operation is 403, and nothing has changed', async () => {
    const ids = await createResources(service, owner, {});
    const { cookie } = await signIn(service, accountId, { email });
    const rows = async () => JSON.stringify((await owner.get(`/v1/recordings/${ids.recording_id}`).expect(200)).body);
    const before = await rows();
    const unsafe = OPERATIONS.filter(({ method }) => method !== 'GET');
    const others: Record<string, string>[] = [
      { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example' },
      { 'Sec-Fetch-Site': 'same-site' },
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      {},
    ];
    await checkRows(
      unsafe.flatMap((operation) => others.map((headers) => [nameOf(operation), operation, headers] as const)),
      async (_, operation, headers) => {
        const from = { url: service.url, headers: { Cookie: cookie, ...headers } };
        expectErrorOf(operation, await call(from, operation, ids), 'PermissionError');
      },
    );
    expect(await rows()).toBe(before);
    expect(unsafe.length).toBeGreaterThan(25);
  });

  it('nor with those of people', async () => {
    const session = await signIn(service, accountId, { email });
    for (const [method, path, body] of [
      ['patch', '/v1/session', { account_id: accountId }],
      ['delete', '/v1/session', undefined],
      ['patch', '/v1/session/person', { name: 'Mallory' }],
      ['delete', `/v1/sessions/${session.session.id}`, undefined],
    ] as const) {
      const answer = await session.send(method, path, body).set('Sec-Fetch-Site', 'cross-site');
      expectError(answer, 'PermissionError');
    }
    expect((await session.get('/v1/session').expect(200)).body.person.name).toBe('Ada Byron');
  });

  it('nor open a WebSocket; those of the service can', async () => {
    const { cookie } = await signIn(service, accountId, { email });
    const upgrade = async (headers: Record<string, string>): Promise<number | undefined> => {
      const asked = httpGet(`${service.url}/v1/realtime?format=pcm16&sample_rate=16000`, {
        headers: {
          Cookie: cookie,
          Connection: 'Upgrade',
          Upgrade: 'websocket',
          'Sec-WebSocket-Version': '13',
          'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
          ...headers,
        },
      });
      const answered = once(asked, 'response').then(([response]) => (response as { statusCode: number }).statusCode);
      const upgraded = once(asked, 'upgrade').then(([response]) => (response as { statusCode: number }).statusCode);
      const status = await Promise.race([answered, upgraded]);
      asked.destroy();
      return status;
    };
    expect(await upgrade({ Origin: 'https://evil.example' })).toBe(403);
    expect(await upgrade({})).toBe(403);
    expect(await upgrade({ Origin: service.url })).toBe(101);
  });
});

describe('The end of a session', () => {
  let second: TestService;

  beforeAll(async () => {
    second = await startService(service.environment, { ROLES: 'api' });
  });

  it('is there for every process with the next request', async () => {
    const [here, other] = [await signIn(service, accountId, { email }), await signIn(service, accountId, { email })];
    const there = here.at(second.url);
    for (const client of [here, there]) await client.get('/v1/recordings').expect(200);
    const { body } = await other.get('/v1/sessions').expect(200);
    expect(body.sessions).toMatchObject([
      { id: other.session.id, is_current: true },
      { id: here.session.id, is_current: false },
    ]);
    await other.send('delete', `/v1/sessions/${here.session.id}`).expect(204);
    for (const client of [there, here]) expectError(await client.get('/v1/recordings'), 'AuthenticationError');
    expectError(await other.send('delete', `/v1/sessions/${here.session.id}`), 'NotFoundError');
    const signedOut = await other.send('delete', '/v1/session').expect(204);
    expect(signedOut.headers['set-cookie']).toEqual([expect.stringMatching(/^__Host-vnotes-session=; Max-Age=0; /)]);
    expectError(await other.get('/v1/session'), 'AuthenticationError');
  });

  it('and a change of the role as well', async () => {
    const here = await signIn(service, accountId, { email });
    const there = here.at(second.url);
    await there.get('/v1/account').expect(200);
    await linkFor(service, accountId, { email, role: 'viewer' });
    expectError(await there.get('/v1/account'), 'PermissionError', { required_scope: 'account:read' });
    await here.get('/v1/recordings').expect(200);
  });

  it('comes with the end of the membership, and with the last one nothing is left of the person', async () => {
    const session = await signIn(service, accountId, { email });
    await session.get('/v1/recordings').expect(200);
    await service.app.get(CredentialVersionsService).change(accountId, async (tx) => {
      await tx.query('DELETE FROM memberships WHERE account_id = $1', [accountId]);
      await tx.query('UPDATE accounts SET credential_version = credential_version + 1 WHERE id = $1', [accountId]);
    });
    expectError(await session.get('/v1/recordings'), 'AuthenticationError');
    for (const table of ['people', 'sessions', 'sign_in_links']) {
      const id = table === 'people' ? 'id' : 'person_id';
      const found = await service.database.query(`SELECT FROM ${table} WHERE ${id} = $1`, [session.session.person.id]);
      expect(found).toEqual([]);
    }
  });

  it.each([
    ['its time', `expires_at = now()`],
    ['a week without a request', `last_seen_at = now() - interval '7 days'`],
  ])('comes after %s', async (_, change) => {
    const session = await signIn(service, accountId, { email });
    await service.database.query(`UPDATE sessions SET ${change} WHERE id = $1`, [session.session.id]);
    expectError(await session.get('/v1/recordings'), 'AuthenticationError');
  });

  it('is put off by requests', async () => {
    const session = await signIn(service, accountId, { email });
    const set = `UPDATE sessions SET last_seen_at = now() - interval '6 days' WHERE id = $1`;
    await service.database.query(set, [session.session.id]);
    await session.get('/v1/recordings').expect(200);
    await eventually(async () => {
      const [row] = await service.database.query<{ recent: boolean }>(
        `SELECT last_seen_at > now() - interval '1 minute' AS recent FROM sessions WHERE id = $1`,
        [session.session.id],
      );
      return row?.recent === true;
    });
  });

  it('ends what it has opened: a link to audio, and a stream of events', async () => {
    const [session, other] = [await signIn(service, accountId, { email }), await signIn(service, accountId, { email })];
    const { body: recording } = await owner.upload(silenceWav(0.1)).expect(201);
    const { body: signed } = await session.send('post', `/v1/recordings/${recording.id}/audio-url`).expect(201);
    await request(service.url).get(signed.url).expect(200);
    const stream = httpGet(`${service.url}/v1/events/stream`, { headers: session.headers });
    const [response] = await once(stream, 'response');
    expect(response.statusCode).toBe(200);
    response.resume();
    const ended = once(response, 'end');
    await other.send('delete', `/v1/sessions/${session.session.id}`).expect(204);
    expectError(await request(service.url).get(signed.url), 'AuthenticationError');
    await ended;
  });
});

describe('A person', () => {
  it('switches between accounts, in every process at once', async () => {
    const second = await startService(service.environment, { ROLES: 'api' });
    const other = await service.account();
    const session = await signIn(service, accountId, { email });
    await service.database.query(`UPDATE sessions SET began_with = 'password' WHERE id = $1`, [session.session.id]);
    const there = session.at(second.url);
    await there.get('/v1/account').expect(200);
    expectError(await session.send('patch', '/v1/session', { account_id: other.accountId }), 'NotFoundError');
    await service.database.query(
      `INSERT INTO memberships (id, account_id, person_id, role, created_at, updated_at)
       VALUES (gen_random_uuid(), $1, $2, 'viewer', now(), now())`,
      [other.accountId, session.session.person.id],
    );
    const { body } = await session.send('patch', '/v1/session', { account_id: other.accountId }).expect(200);
    expect(body).toMatchObject({ account_id: other.accountId, role: 'viewer', scopes: ['recordings:read'] });
    expect(body.memberships).toHaveLength(2);
    expectError(await there.get('/v1/account'), 'PermissionError', { required_scope: 'account:read' });
    await second.close();
  });

  it('changes name, address and password, the last two with the current password', async () => {
    const session = await withPassword();
    const other = clientOf(service.url, await attempt({ email, password: PASSWORD }).expect(201));
    const change = (body: object, by = other) => by.send('patch', '/v1/session/person', body);
    expect((await change({ name: 'Ada King' }).expect(200)).body.person.name).toBe('Ada King');
    const address = `new-${email}`;
    const password = 'four grey geese at dawn';
    expectInvalid(await change({ email: address }), 'current_password');
    expectInvalid(await change({ password }), 'current_password');
    expectInvalid(await change({ password, current_password: 'not it' }), 'current_password');
    expectInvalid(await change({ password: 'short', current_password: PASSWORD }), 'password');
    expectInvalid(await change({ password: 'Password1234', current_password: PASSWORD }), 'password');
    expectInvalid(await change({ password: email, current_password: PASSWORD }), 'password');
    expectInvalid(await change({ email: 'nowhere', current_password: PASSWORD }), 'email');
    await change({ email: address, current_password: PASSWORD }).expect(200);
    await attempt({ email: address, password: PASSWORD }).expect(201);
    expectError(await attempt({ email, password: PASSWORD }), 'AuthenticationError');
    const unused = await linkFor(service, accountId, { email: address });
    await change({ password, current_password: PASSWORD }).expect(200);
    // All others have ended, and so have the links.
    expectError(await session.get('/v1/session'), 'AuthenticationError');
    expectError(await attempt({ link: unused }), 'AuthenticationError');
    await other.get('/v1/session').expect(200);
    await attempt({ email: address, password }).expect(201);
  });

  it('who has forgotten the password sets another one with a link', async () => {
    await withPassword();
    const session = await signIn(service, accountId, { email });
    await session.send('patch', '/v1/session/person', { password: 'four grey geese at dawn' }).expect(200);
    await attempt({ email, password: 'four grey geese at dawn' }).expect(201);
  });
});

/** Statuses up to the first 429. Tokens come back meanwhile, one in ten seconds at most. */
async function untilLimited(guess: (n: number) => request.Test, most: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let n = 0; n < most && statuses.at(-1) !== 429; n++) statuses.push((await guess(n)).status);
  return statuses;
}

describe('Guesses of passwords', () => {
  it('are slowed for a client and an e-mail address; nobody else is kept out', async () => {
    await withPassword();
    const [guesser, friend] = [`2001:db8:${randomHex()}:1::1`, `2001:db8:${randomHex()}:2::1`];
    const answers = await untilLimited((n) => attempt({ email, password: `guess ${n}` }, guesser), 20);
    expect(answers.slice(0, 10)).toEqual(Array(10).fill(401));
    expect(answers.at(-1)).toBe(429);
    // The right one as well, from the same network.
    const limited = await attempt({ email, password: PASSWORD }, guesser.replace('::1', '::2'));
    expect(Number(limited.headers['retry-after'])).toBeGreaterThan(0);
    expectError(limited, 'RateLimitError', { retry_after: Number(limited.headers['retry-after']) });
    await attempt({ email, password: PASSWORD }, friend).expect(201);
  });

  it('are slowed for a client and all e-mail addresses together', async () => {
    const guesser = `2001:db8:${randomHex()}:3::1`;
    const answers = await untilLimited((n) => attempt({ link: `vnl_${n}` }, guesser), 100);
    expect(answers.slice(0, 60)).toEqual(Array(60).fill(401));
    expect(answers.at(-1)).toBe(429);
  });
});
