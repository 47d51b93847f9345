import { randomUUID } from 'node:crypto';
import type { Test } from 'supertest';
import { ROLES, type Role } from '../../../src/access/roles.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { startService, type TestService, useService } from '../../../src/testing/test-service.js';
import { checkRows } from '../../support/check-rows.js';
import { expectError, expectHeaders, expectInvalid } from '../../support/http/expect-errors.js';
import {
  clientOf,
  fromElsewhere,
  invitationFor,
  invite,
  linkIn,
  PASSWORD,
  type SessionClient,
  signIn,
} from '../../support/http/session-client.js';

const MEMBERS = '/v1/account/members';
const INVITATIONS = '/v1/account/invitations';
const OTHER_PASSWORD = 'four grey geese at dawn';

const service = useService({ ROLES: 'api', TRUST_PROXY: '1' });
let key: ApiClient;
let accountId: string;
let owner: SessionClient;

beforeEach(async () => {
  key = await service.account();
  ({ accountId } = key);
  owner = await member('owner', 'Olga');
});

const emailOf = (name: string): string => `${name.toLowerCase()}-${randomUUID()}@example.com`;
/** With a link of the operator's, so without a password. */
const member = (role: Role, name: string): Promise<SessionClient> =>
  signIn(service, accountId, { email: emailOf(name), role, name });
/** As one who signed in with a password, without the time that its hash takes. */
async function known(role: Role): Promise<SessionClient> {
  const client = await member(role, 'Ben');
  await service.database.query(`UPDATE sessions SET began_with = 'password' WHERE id = $1`, [client.session.id]);
  return client;
}
/** With a password. */
const invited = (role: Role, by = owner): Promise<SessionClient> =>
  invite(service, by, { email: emailOf('Ben'), role });
const idOf = ({ session }: SessionClient): string => session.memberships[0]?.id ?? '';
const setRole = (by: SessionClient, of: SessionClient, role: Role): Test =>
  by.send('patch', `${MEMBERS}/${idOf(of)}`, { role });
const remove = (by: SessionClient, who: SessionClient): Test => by.send('delete', `${MEMBERS}/${idOf(who)}`);
const leave = (who: SessionClient): Test => who.send('delete', `/v1/session/memberships/${idOf(who)}`);
const createLink = (by: SessionClient, of: SessionClient): Test => by.send('post', `${MEMBERS}/${idOf(of)}/links`);
const changePassword = (who: SessionClient, password = OTHER_PASSWORD): Test =>
  who.send('patch', '/v1/session/person', { password });
const open = (link: string): Test => fromElsewhere(service, '/v1/invitations/open', { link });
const accept = (link: string, more: object = {}): Test =>
  fromElsewhere(service, '/v1/invitations/accept', { link, name: 'Ben', password: PASSWORD, ...more });
const begin = (body: object): Test => fromElsewhere(service, '/v1/sessions', body);
const useLink = async (link: string): Promise<SessionClient> =>
  clientOf(service.url, await begin({ link }).expect(201));
const rolesOf = async (account: ApiClient): Promise<Role[]> =>
  (await account.get(MEMBERS).expect(200)).body.members.map(({ role }: { role: Role }) => role);
/** The person belongs to both accounts then. */
async function joinOther(who: SessionClient, role: Role = 'viewer'): Promise<ApiClient> {
  const other = await service.account();
  const ofOther = await signIn(service, other.accountId, { email: emailOf('Otto') });
  const link = await invitationFor(ofOther, { email: emailOf('Ben'), role });
  await who.send('post', '/v1/session/memberships', { link }).expect(201);
  return other;
}

describe('An invitation (D99)', () => {
  it('makes a new person a member, once, with a session that does what the role allows', async () => {
    const email = emailOf('Ben');
    const { body: created } = await owner.send('post', INVITATIONS, { email, role: 'editor' }).expect(201);
    const { url, ...invitation } = created;
    expect(url).toMatch(/^\/#invitation=vni_[\w-]{43}$/);
    expect(invitation).toMatchObject({ email, role: 'editor', created_by_person: owner.session.person.id });
    expect((await key.get(INVITATIONS).expect(200)).body).toMatchObject({ invitations: [invitation], total: 1 });
    const { body: account } = await key.get('/v1/account').expect(200);
    const shown = { account_name: account.name, email, role: 'editor', expires_at: invitation.expires_at };
    expect((await open(linkIn(created)).expect(200)).body).toEqual(shown);
    const answer = await accept(linkIn(created)).expect(201);
    expectHeaders(answer);
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(/^__Host-vnotes-session=vnss_[\w-]{43}; .*; Secure; HttpOnly; SameSite=Strict$/),
    ]);
    expect(answer.body).toMatchObject({
      account_id: accountId,
      role: 'editor',
      began_with: 'password',
      person: { name: 'Ben', email, has_password: true },
    });
    const ben = clientOf(service.url, answer);
    expect((await ben.get('/v1/recordings').expect(200)).headers['x-service-scopes']).toBe(
      'recordings:read, recordings:write',
    );
    await begin({ email, password: PASSWORD }).expect(201);
    expect((await key.get(INVITATIONS)).body.total).toBe(0);
    const { members } = (await key.get(MEMBERS).expect(200)).body;
    expect(members).toMatchObject([
      { id: idOf(owner), name: 'Olga', role: 'owner' },
      { id: idOf(ben), person_id: ben.session.person.id, name: 'Ben', email, role: 'editor' },
    ]);
    for (const again of [open, accept]) expectError(await again(linkIn(created)), 'NotFoundError');
    const stored = await service.database.query('SELECT * FROM sign_in_links');
    expect(JSON.stringify(stored)).not.toContain(linkIn(created));
  });

  it('is accepted by one of several that try at the same time', async () => {
    const link = await invitationFor(owner, { email: emailOf('Ben'), role: 'viewer' });
    const tries = await Promise.all([accept(link), accept(link), accept(link)]);
    expect(tries.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 404, 404]);
    expect(await rolesOf(key)).toEqual(['owner', 'viewer']);
  });

  it('is worth nothing when it was withdrawn or has expired, and is no link that signs in; nor the other way round', async () => {
    const email = emailOf('Ben');
    const [withdrawn, expired] = [
      (await owner.send('post', INVITATIONS, { email, role: 'viewer' }).expect(201)).body,
      (await owner.send('post', INVITATIONS, { email, role: 'viewer' }).expect(201)).body,
    ];
    await owner.send('delete', `${INVITATIONS}/${withdrawn.id}`).expect(204);
    expectError(await owner.send('delete', `${INVITATIONS}/${withdrawn.id}`), 'NotFoundError');
    await service.database.query('UPDATE sign_in_links SET expires_at = now() WHERE id = $1', [expired.id]);
    expect((await key.get(INVITATIONS)).body).toMatchObject({ invitations: [], total: 0 });
    const good = await invitationFor(owner, { email, role: 'viewer' });
    const signsIn = linkIn((await createLink(owner, owner).expect(201)).body);
    const asSignIn = good.replace('vni_', 'vnl_');
    const asInvitation = signsIn.replace('vnl_', 'vni_');
    await checkRows([[linkIn(withdrawn)], [linkIn(expired)], [signsIn], [asInvitation], ['x']], async (link) => {
      for (const use of [open, accept]) expectError(await use(link), 'NotFoundError');
      expectError(await owner.send('post', '/v1/session/memberships', { link }), 'NotFoundError');
    });
    for (const link of [good, asSignIn]) expectError(await begin({ link }), 'AuthenticationError');
    await accept(good).expect(201);
  });

  it('is not used up by a bad request', async () => {
    const link = await invitationFor(owner, { email: emailOf('Ben'), role: 'viewer' });
    for (const [more, field] of [
      [{ name: '' }, 'name'],
      [{ password: 'too short' }, 'password'],
      [{ password: 'Password1234' }, 'password'],
      [{ role: 'owner' }, 'role'],
      [{ email: 'mallory@example.com' }, 'email'],
    ] as const)
      expectInvalid(await accept(link, more), field);
    await accept(link).expect(201);
    for (const [body, field] of [
      [{ role: 'viewer' }, 'email'],
      [{ email: 'nowhere', role: 'viewer' }, 'email'],
      [{ email: 'ada@example.com', role: 'root' }, 'role'],
      [{ email: 'ada@example.com' }, 'role'],
    ] as const)
      expectInvalid(await owner.send('post', INVITATIONS, body), field);
  });

  it('tells nothing of others who have the address, and never takes them for the one who is invited', async () => {
    const first = await known('viewer');
    const { email } = first.session.person;
    const second = await invite(service, owner, { email, role: 'editor' });
    expect(second.session.person.id).not.toBe(first.session.person.id);
    expect(await rolesOf(key)).toEqual(['owner', 'viewer', 'editor']);
  });

  it('is one of 100 at most', async () => {
    await service.database.query(
      `INSERT INTO sign_in_links (id, token_hash, account_id, email, role, created_at, expires_at)
       SELECT gen_random_uuid(), gen_random_uuid()::text, $1, 'ada@example.com', 'viewer', now(), now() + interval '1 day'
       FROM generate_series(1, 99)`,
      [accountId],
    );
    const create = () => owner.send('post', INVITATIONS, { email: 'ada@example.com', role: 'viewer' });
    await create().expect(201);
    expectError(await create(), 'LimitExceededError', { maximum: 100 });
    expect((await key.get(`${INVITATIONS}?limit=1`)).body.total).toBe(100);
  });
});

describe('Who may change members', () => {
  /** What takes a session with `account:write`, with what it would take. */
  const operations = (): [name: string, ask: (by: SessionClient) => Test][] => [
    ['invite', (by) => by.send('post', INVITATIONS, { email: 'ada@example.com', role: 'viewer' })],
    ['withdraw', (by) => by.send('delete', `${INVITATIONS}/${randomUUID()}`)],
    ['change a role', (by) => setRole(by, owner, 'viewer')],
    ['remove', (by) => remove(by, owner)],
    ['create a link', (by) => createLink(by, owner)],
  ];

  it('editors and viewers change nobody, and do not see who there is', async () => {
    for (const who of [await member('editor', 'Eva'), await member('viewer', 'Vera')]) {
      await checkRows(operations(), async (_, ask) => {
        expectError(await ask(who), 'PermissionError', { required_scope: 'account:write' });
      });
      for (const path of [MEMBERS, INVITATIONS])
        expectError(await who.get(path), 'PermissionError', { required_scope: 'account:read' });
    }
    expect(await rolesOf(key)).toEqual(['owner', 'editor', 'viewer']);
  });

  it('no API key lets people in or changes them, whatever its scopes', async () => {
    const withKey = { send: (method: 'post', path: string, body?: object) => key[method](path, body) };
    await checkRows(operations().slice(0, 1), async (_, ask) => {
      expectError(await ask(withKey as unknown as SessionClient), 'PermissionError');
    });
    expectError(await key.patch(`${MEMBERS}/${idOf(owner)}`, { role: 'viewer' }), 'PermissionError');
    expectError(await key.delete(`${MEMBERS}/${idOf(owner)}`), 'PermissionError');
    expectError(await key.delete(`${INVITATIONS}/${randomUUID()}`), 'PermissionError');
    expectError(await key.post(`${MEMBERS}/${idOf(owner)}/links`), 'PermissionError');
    expectError(await key.post('/v1/session/memberships', { link: 'x' }), 'PermissionError');
    expectError(await key.delete(`/v1/session/memberships/${idOf(owner)}`), 'PermissionError');
  });

  it('no page of another origin does it with a session', async () => {
    const link = await invitationFor(owner, { email: emailOf('Ben'), role: 'viewer' });
    const more: typeof operations = () => [
      ...operations(),
      ['join', (by) => by.send('post', '/v1/session/memberships', { link })],
      ['leave', (by) => leave(by)],
    ];
    await checkRows(more(), async (_, ask) => {
      for (const site of ['cross-site', 'same-site', 'none'])
        expectError(await ask(owner).set('Sec-Fetch-Site', site), 'PermissionError');
    });
    expect(await rolesOf(key)).toEqual(['owner']);
  });

  it('administrators give and take every role but that of owners', async () => {
    const [admin, other] = [await member('admin', 'Anna'), await member('viewer', 'Vera')];
    for (const role of ROLES.slice(1)) {
      expect((await setRole(admin, other, role).expect(200)).body).toMatchObject({ id: idOf(other), role });
      await invitationFor(admin, { email: 'ada@example.com', role });
    }
    const refused: [string, Test][] = [
      ['give', setRole(admin, other, 'owner')],
      ['give themselves', setRole(admin, admin, 'owner')],
      ['take', setRole(admin, owner, 'admin')],
      ['remove', remove(admin, owner)],
      ['sign in as', createLink(admin, owner)],
      ['invite', admin.send('post', INVITATIONS, { email: 'ada@example.com', role: 'owner' })],
    ];
    await checkRows(refused, async (_, answer) => expectError(await answer, 'PermissionError'));
    expect(await rolesOf(key)).toEqual(['owner', 'admin', 'viewer']);
    await setRole(owner, other, 'owner').expect(200);
    await createLink(owner, other).expect(201);
  });

  it('whoever lost the right between the guards and the change does not change anything', async () => {
    const [admin, other] = [await member('admin', 'Anna'), await member('viewer', 'Vera')];
    const blocked = await whileLocked(
      (run) => run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`members:${accountId}`]),
      () => setRole(admin, other, 'admin'),
      (run) => run(`UPDATE memberships SET role = 'viewer' WHERE id = $1`, [idOf(admin)]),
    );
    expectError(blocked, 'PermissionError', { required_scope: 'account:write' });
    expect(await rolesOf(key)).toEqual(['owner', 'viewer', 'viewer']);
  });

  it('nobody reaches members and invitations of another account', async () => {
    const other = await service.account();
    const stranger = await signIn(service, other.accountId, { email: emailOf('Sam') });
    const { body: invitation } = await owner
      .send('post', INVITATIONS, { email: 'ada@example.com', role: 'viewer' })
      .expect(201);
    for (const id of [idOf(owner), randomUUID(), 'x', idOf(owner).toUpperCase()]) {
      expectError(await stranger.send('patch', `${MEMBERS}/${id}`, { role: 'viewer' }), 'NotFoundError');
      expectError(await stranger.send('delete', `${MEMBERS}/${id}`), 'NotFoundError');
      expectError(await stranger.send('post', `${MEMBERS}/${id}/links`), 'NotFoundError');
      expectError(await stranger.send('delete', `/v1/session/memberships/${id}`), 'NotFoundError');
    }
    expectError(await stranger.send('delete', `${INVITATIONS}/${invitation.id}`), 'NotFoundError');
    expect(await rolesOf(other)).toEqual(['owner']);
    expect((await other.get(INVITATIONS)).body.total).toBe(0);
    await open(linkIn(invitation)).expect(200);
  });
});

describe('The last owner', () => {
  it('is not demoted, removed, and does not leave; one of two is and does', async () => {
    const asks = [() => setRole(owner, owner, 'admin'), () => remove(owner, owner), () => leave(owner)];
    for (const ask of asks) expectError(await ask(), 'ConflictError');
    const second = await member('owner', 'Otto');
    await setRole(second, owner, 'admin').expect(200);
    for (const ask of [() => remove(second, second), () => leave(second)]) expectError(await ask(), 'ConflictError');
    await setRole(second, owner, 'owner').expect(200);
    await leave(second).expect(204);
    expect(await rolesOf(key)).toEqual(['owner']);
  });

  it.each<[string, (a: SessionClient, b: SessionClient) => Test]>([
    ['demote each other', (a, b) => setRole(a, b, 'viewer')],
    ['demote themselves', (a) => setRole(a, a, 'viewer')],
    ['remove each other', (a, b) => remove(a, b)],
    ['leave', (a) => leave(a)],
  ])('is there after two owners %s at the same time', async (_, ask) => {
    const second = await member('owner', 'Otto');
    const statuses = (await Promise.all([ask(owner, second), ask(second, owner)])).map(({ status }) => status);
    expect(statuses.filter((status) => status < 300)).toHaveLength(1);
    expect((await rolesOf(key)).filter((role) => role === 'owner')).toHaveLength(1);
  });
});

describe('A change of members', () => {
  let second: TestService;

  beforeAll(async () => {
    second = await startService(service.environment, { ROLES: 'api' });
  });

  it('of a role holds from the next request on, in every process', async () => {
    const ben = await member('admin', 'Ben');
    const processes = [ben, ben.at(second.url)];
    for (const client of processes) await client.get('/v1/account').expect(200);
    await setRole(owner, ben, 'viewer').expect(200);
    for (const client of processes)
      expectError(await client.get('/v1/account'), 'PermissionError', { required_scope: 'account:read' });
    await setRole(owner.at(second.url), ben, 'admin').expect(200);
    for (const client of processes) await client.get('/v1/account').expect(200);
  });

  it('that removes one ends the sessions, and with the last membership nothing is left of the person', async () => {
    const ben = await member('admin', 'Ben');
    const processes = [ben, ben.at(second.url)];
    for (const client of processes) await client.get('/v1/recordings').expect(200);
    await remove(owner, ben).expect(204);
    for (const client of processes) expectError(await client.get('/v1/recordings'), 'AuthenticationError');
    const found = await service.database.query('SELECT FROM people WHERE id = $1', [ben.session.person.id]);
    expect(found).toEqual([]);
    expectError(await remove(owner, ben), 'NotFoundError');
  });

  it('by which one leaves takes no scope, ends the sessions there, and no others', async () => {
    const ben = await invited('viewer');
    const other = await joinOther(ben);
    const { email } = ben.session.person;
    const elsewhere = clientOf(service.url, await begin({ email, password: PASSWORD }).expect(201));
    await elsewhere.send('patch', '/v1/session', { account_id: other.accountId }).expect(200);
    const answer = await leave(ben).expect(204);
    expect(answer.headers['set-cookie']).toEqual([expect.stringMatching(/^__Host-vnotes-session=; Max-Age=0; /)]);
    expectError(await ben.get('/v1/session'), 'AuthenticationError');
    const { body } = await elsewhere.get('/v1/session').expect(200);
    expect(body.memberships).toMatchObject([{ account_id: other.accountId, role: 'viewer' }]);
    expect(await rolesOf(key)).toEqual(['owner']);
    // Of another account than that for which the session acts.
    await joinBack(elsewhere);
    const { body: both } = await elsewhere.get('/v1/session').expect(200);
    const here = both.memberships.find((one: { account_id: string }) => one.account_id === accountId);
    const left = await elsewhere.send('delete', `/v1/session/memberships/${here.id}`).expect(204);
    expect(left.headers['set-cookie']).toBeUndefined();
    await elsewhere.get('/v1/session').expect(200);
  });

  const joinBack = async (who: SessionClient) => {
    const link = await invitationFor(owner, { email: emailOf('Ben'), role: 'editor' });
    const joined = await who.send('post', '/v1/session/memberships', { link }).expect(201);
    expect(joined.body).toMatchObject({ account_id: accountId, role: 'editor' });
    expectError(await who.send('post', '/v1/session/memberships', { link }), 'NotFoundError');
    const again = await invitationFor(owner, { email: emailOf('Ben'), role: 'editor' });
    expectError(await who.send('post', '/v1/session/memberships', { link: again }), 'ConflictError');
    await open(again).expect(200);
  };

  it('in a suspended account: a person leaves, and changes nobody', async () => {
    const ben = await member('admin', 'Ben');
    await service.database.query(`UPDATE accounts SET status = 'suspended' WHERE id = $1`, [accountId]);
    expectError(await remove(ben, owner), 'AccountSuspendedError');
    await leave(ben).expect(204);
  });
});

describe('A link that an administrator makes', () => {
  it('signs in the member, once, who sets another password with it', async () => {
    const [admin, ben] = [await member('admin', 'Anna'), await invited('editor')];
    const before = linkIn((await createLink(admin, ben).expect(201)).body);
    const { body } = await createLink(admin, ben).expect(201);
    expect(body).toEqual({ url: expect.stringMatching(/^\/#link=vnl_[\w-]{43}$/), expires_at: expect.any(String) });
    // The one before has ended.
    expectError(await begin({ link: before }), 'AuthenticationError');
    const session = await useLink(linkIn(body));
    expect((await session.get('/v1/session')).body).toMatchObject({ began_with: 'link', account_id: accountId });
    expectError(await begin({ link: linkIn(body) }), 'AuthenticationError');
    await changePassword(session).expect(200);
    expectError(await ben.get('/v1/session'), 'AuthenticationError');
    await begin({ email: ben.session.person.email, password: OTHER_PASSWORD }).expect(201);
  });

  it('is refused for a person of several accounts: whoever has it acts as this person everywhere', async () => {
    const ben = await known('viewer');
    const other = await joinOther(ben);
    expectError(await createLink(owner, ben), 'ConflictError');
    await service.database.query('DELETE FROM memberships WHERE account_id = $1 AND person_id = $2', [
      other.accountId,
      ben.session.person.id,
    ]);
    await createLink(owner, ben).expect(201);
  });

  it('and the sessions that it began, end when the person joins another account', async () => {
    const ben = await known('viewer');
    const second = await startService(service.environment, { ROLES: 'api' });
    const stolen = await useLink(linkIn((await createLink(owner, ben).expect(201)).body));
    const unused = linkIn((await createLink(owner, ben).expect(201)).body);
    const processes = [stolen, stolen.at(second.url)];
    for (const client of processes) await client.get('/v1/recordings').expect(200);
    await joinOther(ben);
    for (const client of processes) expectError(await client.get('/v1/recordings'), 'AuthenticationError');
    expectError(await begin({ link: unused }), 'AuthenticationError');
    await ben.get('/v1/session').expect(200);
    await second.close();
  });

  it('begins a session that stays in its account: it neither switches, joins nor leaves another', async () => {
    const ben = await known('viewer');
    const other = await joinOther(ben);
    // As if it had been begun while the person joined, and by the operator for somebody of several accounts.
    const session = await signIn(service, accountId, { email: ben.session.person.email, role: 'viewer' });
    expect(session.session.person.id).toBe(ben.session.person.id);
    const { memberships } = (await session.get('/v1/session').expect(200)).body;
    const there = memberships.find((one: { account_id: string }) => one.account_id === other.accountId);
    const link = await invitationFor(owner, { email: emailOf('Ben'), role: 'viewer' });
    expectError(await session.send('patch', '/v1/session', { account_id: other.accountId }), 'PermissionError');
    expectError(await session.send('delete', `/v1/session/memberships/${there.id}`), 'PermissionError');
    expectError(await session.send('post', '/v1/session/memberships', { link }), 'PermissionError');
    await session.send('patch', '/v1/session', { account_id: accountId }).expect(200);
    await open(link).expect(200);
  });

  it('sets no password once its session has ended, however late the request', async () => {
    const ben = await invited('viewer');
    const stolen = await useLink(linkIn((await createLink(owner, ben).expect(201)).body));
    const late = await whileLocked(
      (run) => run('SELECT FROM people WHERE id = $1 FOR UPDATE', [ben.session.person.id]),
      () => changePassword(stolen),
      (run) => run(`DELETE FROM sessions WHERE id = $1`, [stolen.session.id]),
    );
    expectError(late, 'AuthenticationError');
    await begin({ email: ben.session.person.email, password: PASSWORD }).expect(201);
    expectError(await begin({ email: ben.session.person.email, password: OTHER_PASSWORD }), 'AuthenticationError');
  });

  it('joins nothing once the password has changed, however late the request', async () => {
    const ben = await known('viewer');
    const other = await service.account();
    const ofOther = await signIn(service, other.accountId, { email: emailOf('Otto') });
    const link = await invitationFor(ofOther, { email: emailOf('Ben'), role: 'viewer' });
    const late = await whileLocked(
      (run) => run('SELECT FROM people WHERE id = $1 FOR UPDATE', [ben.session.person.id]),
      () => ben.send('post', '/v1/session/memberships', { link }),
      (run) => run(`DELETE FROM sessions WHERE id = $1`, [ben.session.id]),
    );
    expectError(late, 'AuthenticationError');
    expect(await rolesOf(other)).toEqual(['owner']);
    await open(link).expect(200);
  });

  it.each<[string, (admin: SessionClient) => Test, boolean]>([
    ['is removed', (admin) => remove(owner, admin), true],
    ['leaves', (admin) => leave(admin), true],
    ['gets a lower role', (admin) => setRole(owner, admin, 'editor'), true],
    ['gets a higher role', (admin) => setRole(owner, admin, 'owner'), false],
  ])('ends with its sessions, and with invitations, when the administrator %s: %#', async (_, change, ends) => {
    const [admin, ben] = [await member('admin', 'Anna'), await known('editor')];
    const stolen = await useLink(linkIn((await createLink(admin, ben).expect(201)).body));
    const invitation = await invitationFor(admin, { email: emailOf('Ben'), role: 'admin' });
    const unused = linkIn((await createLink(admin, ben).expect(201)).body);
    const ofOwner = await invitationFor(owner, { email: emailOf('Ben'), role: 'admin' });
    expect((await change(admin)).status).toBeLessThan(300);
    const statuses = [(await stolen.get('/v1/session')).status, (await open(invitation)).status];
    expect([...statuses, (await begin({ link: unused })).status]).toEqual(ends ? [401, 404, 401] : [200, 200, 201]);
    await open(ofOwner).expect(200);
    await ben.get('/v1/session').expect(200);
  });
});

describe('The audit log (D98)', () => {
  it('has an entry for each change of members, without names and addresses', async () => {
    const admin = await member('admin', 'Anna');
    const { body: withdrawn } = await owner
      .send('post', INVITATIONS, { email: emailOf('Ben'), role: 'viewer' })
      .expect(201);
    await owner.send('delete', `${INVITATIONS}/${withdrawn.id}`).expect(204);
    const link = await invitationFor(admin, { email: emailOf('Ben'), role: 'viewer' });
    const ben = clientOf(service.url, await accept(link).set('X-Request-Id', 'the-acceptance').expect(201));
    await setRole(admin, ben, 'editor').expect(200);
    await setRole(admin, ben, 'editor').expect(200);
    await createLink(admin, ben).expect(201);
    await leave(ben).expect(204);
    await remove(owner, admin).expect(204);
    const { body } = await key.get('/v1/account/audit-log').expect(200);
    const entries = body.entries.filter(({ action }: { action: string }) => !action.startsWith('session.'));
    const ids = [owner, admin, ben].map(({ session }) => session.person.id);
    const [byOwner, byAdmin, byBen] = ids.map((id) => expect.objectContaining({ kind: 'person', person_id: id }));
    const ofBen = [{ type: 'person', id: ids[2] }];
    expect(entries.slice(0, 8)).toMatchObject([
      { action: 'member.removed', actor: byOwner, before: { role: 'admin' } },
      { action: 'member.removed', actor: byBen, targets: ofBen, before: { role: 'editor' } },
      { action: 'sign_in_link.created', actor: byAdmin, targets: ofBen },
      { action: 'member.updated', actor: byAdmin, before: { role: 'viewer' }, after: { role: 'editor' } },
      { action: 'member.added', actor: byBen, after: { role: 'viewer' }, request_id: 'the-acceptance' },
      { action: 'invitation.created', actor: byAdmin, after: { role: 'viewer' } },
      { action: 'invitation.withdrawn', actor: byOwner, targets: [{ type: 'invitation', id: withdrawn.id }] },
      { action: 'invitation.created', actor: byOwner },
    ]);
    expect(entries[4].address).toMatch(/^2001:db8:/);
    const stored = await service.database.query(
      `SELECT * FROM audit_entries WHERE account_id = $1 AND action NOT LIKE 'account.%'`,
      [accountId],
    );
    expect(JSON.stringify(stored)).not.toMatch(/@example\.com|Olga|Anna|vn[il]_/);
  });
});

describe('A password that was changed', () => {
  it('begins no session, however late the request', async () => {
    const ben = await invited('viewer');
    const { id, email } = ben.session.person;
    const late = await whileLocked(
      (run) => run('SELECT FROM people WHERE id = $1 FOR UPDATE', [id]),
      () => begin({ email, password: PASSWORD }),
      (run) => run(`UPDATE people SET password_hash = password_hash || 'x' WHERE id = $1`, [id]),
    );
    expectError(late, 'AuthenticationError');
  });
});

type Run = (sql: string, parameters?: unknown[]) => Promise<unknown>;

/** Sends the request while `lock` is held, does `change` once the request waits for it, and lets go. */
async function whileLocked(
  lock: (run: Run) => Promise<unknown>,
  ask: () => Test,
  change: (run: Run) => Promise<unknown>,
) {
  const runner = service.database.dataSource.createQueryRunner();
  await runner.startTransaction();
  const run: Run = (sql, parameters) => runner.query(sql, parameters);
  try {
    await lock(run);
    const answer = ask().then((received) => received);
    const [{ pid }] = await runner.query('SELECT pg_backend_pid() AS pid');
    await eventually(async () => {
      const waiting = await service.database.query(
        'SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))',
        [pid],
      );
      return waiting.length > 0;
    });
    await change(run);
    await runner.commitTransaction();
    return await answer;
  } finally {
    if (runner.isTransactionActive) await runner.rollbackTransaction();
    await runner.release();
  }
}
