import { randomUUID } from 'node:crypto';
import request, { type Test } from 'supertest';
import { startService, type TestService, useService } from '../../../src/testing/test-service.js';
import { expectError, expectInvalid } from '../../support/http/expect-errors.js';
import {
  clientOf,
  fromElsewhere,
  invitationFor,
  invite,
  linkFor,
  linkIn,
  PASSWORD,
  type SessionClient,
  signIn,
} from '../../support/http/session-client.js';
import { SoftwareAuthenticator } from '../../support/http/software-authenticator.js';

/** Every way is there, so that people, links and passwords are made with it. */
const all = useService({ ROLES: 'api', TRUST_PROXY: '1' });
let onlyLinks: TestService;
let onlyPasswords: TestService;
let none: TestService;
let accountId: string;
let owner: SessionClient;

const withWays = (ways: string): Promise<TestService> =>
  startService(all.environment, { ROLES: 'api', TRUST_PROXY: '1', SIGN_IN_WAYS: ways });

beforeAll(async () => {
  [onlyLinks, onlyPasswords, none] = [await withWays('link'), await withWays('password'), await withWays('none')];
});

beforeEach(async () => {
  ({ accountId } = await all.account());
  owner = await signIn(all, accountId, { email: emailOf('olga'), name: 'Olga' });
});

const emailOf = (name: string): string => `${name}-${randomUUID()}@example.com`;
const waysOf = async ({ url }: TestService): Promise<unknown> =>
  (await request(url).get('/v1/sign-in-providers').expect(200)).body;
const begin = (service: TestService, body: object): Test => fromElsewhere(service, '/v1/sessions', body);
const accept = (service: TestService, body: object): Test => fromElsewhere(service, '/v1/invitations/accept', body);
const isOff = async (way: string, sending: Test): Promise<void> => {
  const { status, body } = await sending;
  expect({ status, body }).toMatchObject({
    status: 403,
    body: { error: { type: 'PermissionError', code: 'SIGN_IN_WAY_OFF', details: { way } } },
  });
};

describe('SIGN_IN_WAYS (D104)', () => {
  it('tells pages which ways there are', async () => {
    expect(await waysOf(all)).toEqual({ ways: ['password', 'link', 'passkey'], sends_links: false, providers: [] });
    expect(await waysOf(onlyLinks)).toEqual({ ways: ['link'], sends_links: false, providers: [] });
    expect(await waysOf(none)).toEqual({ ways: [], sends_links: false, providers: [] });
  });

  it('without passwords: nobody signs in with one or sets one, and links and sessions go on', async () => {
    const email = emailOf('ben');
    const ben = await invite(all, owner, { email, role: 'admin' });
    await isOff('password', begin(onlyLinks, { email, password: PASSWORD }));
    await isOff('password', begin(onlyLinks, { email: emailOf('nobody'), password: PASSWORD }));
    await isOff('password', ben.at(onlyLinks.url).send('patch', '/v1/session/person', { password: 'four grey geese' }));
    await ben.at(onlyLinks.url).send('patch', '/v1/session/person', { name: 'Benjamin' }).expect(200);
    const { memberships } = ben.session;
    const links = `/v1/account/members/${memberships[0]?.id}/links`;
    const { body } = await owner.at(onlyLinks.url).send('post', links).expect(201);
    const again = clientOf(onlyLinks.url, await begin(onlyLinks, { link: linkIn(body) }).expect(201));
    expect(again.session.person).toMatchObject({ id: ben.session.person.id, has_password: true });
    // The password is still there for the day on which the way is switched on.
    await begin(all, { email, password: PASSWORD }).expect(201);
  });

  it('without passwords an invitation makes a person who has none', async () => {
    const link = await invitationFor(owner, { email: emailOf('ben'), role: 'viewer' });
    expectInvalid(await accept(all, { link, name: 'Ben' }), 'password', /^is required$/);
    await isOff('password', accept(onlyLinks, { link, name: 'Ben', password: PASSWORD }));
    const { body } = await accept(onlyLinks, { link, name: 'Ben' }).expect(201);
    expect(body).toMatchObject({ began_with: 'link', role: 'viewer', person: { name: 'Ben', has_password: false } });
    expectError(await accept(onlyLinks, { link, name: 'Ben' }), 'NotFoundError');
  });

  it('without links: members make none and use none, and those of the operator work', async () => {
    const ben = await signIn(all, accountId, { email: emailOf('ben'), role: 'viewer' });
    const links = `/v1/account/members/${ben.session.memberships[0]?.id}/links`;
    const { body } = await owner.send('post', links).expect(201);
    await isOff('link', owner.at(onlyPasswords.url).send('post', links));
    await isOff('link', begin(onlyPasswords, { link: linkIn(body) }));
    await isOff('link', begin(onlyPasswords, { link: 'vnl_no' }));
    await ben.at(onlyPasswords.url).get('/v1/session').expect(200);
    const link = await linkFor(all, accountId, { email: emailOf('cleo'), role: 'owner' });
    const cleo = clientOf(onlyPasswords.url, await begin(onlyPasswords, { link }).expect(201));
    await cleo.send('patch', '/v1/session/person', { password: PASSWORD }).expect(200);
    // What was refused was not used up.
    await begin(all, { link: linkIn(body) }).expect(201);
  });

  it('without passkeys: nobody adds one or signs in with one, and those that are there can be removed', async () => {
    const ben = (await invite(all, owner, { email: emailOf('ben'), role: 'viewer' })).at(onlyPasswords.url);
    await isOff('passkey', ben.send('post', '/v1/session/passkeys/options', {}));
    await isOff('passkey', fromElsewhere(onlyPasswords, '/v1/sessions/passkey-options', {}));
    const credential = new SoftwareAuthenticator('https://notes.example.com').get({ challenge: 'x', rpId: 'x' });
    await isOff('passkey', fromElsewhere(onlyPasswords, '/v1/sessions/passkey', { credential }));
    await ben.get('/v1/session/passkeys').expect(200);
    expectError(await ben.send('delete', `/v1/session/passkeys/${randomUUID()}`), 'NotFoundError');
  });

  it('without both: who has signed in joins with an invitation, and nobody new comes', async () => {
    const link = await invitationFor(owner, { email: emailOf('ben'), role: 'viewer' });
    await isOff('password', accept(none, { link, name: 'Ben' }));
    await isOff('password', accept(none, { link, name: 'Ben', password: PASSWORD }));
    const other = await all.account();
    const olaf = await signIn(all, other.accountId, { email: emailOf('olaf') });
    const ben = await invite(all, olaf, { email: emailOf('ben'), role: 'viewer' });
    await ben.at(none.url).send('post', '/v1/session/memberships', { link }).expect(201);
  });
});
