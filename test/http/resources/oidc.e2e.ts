import { randomUUID } from 'node:crypto';
import request from 'supertest';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { startService, type TestService, useService } from '../../../src/testing/test-service.js';
import { expectError, expectInvalid } from '../../support/http/expect-errors.js';
import { SessionClient } from '../../support/http/session-client.js';
import { OpenIdProvider } from '../../support/servers/openid-provider.js';

const ROLES = { 'voice-owners': 'owner', 'voice-admins': 'admin', 'voice-readers': 'viewer' };

/** A browser: it follows redirects and keeps cookies. */
class Browser {
  readonly cookies = new Map<string, string>();

  /** @returns the first answer that is no redirect, or the last address for which `until` is true. */
  async go(url: string, until: (url: URL) => boolean = () => false): Promise<URL> {
    let at = new URL(url);
    for (let hops = 0; hops < 12; hops++) {
      const response = await fetch(at, {
        redirect: 'manual',
        headers: { Cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      });
      for (const cookie of response.headers.getSetCookie()) this.keep(cookie);
      await response.arrayBuffer();
      const location = response.headers.get('location');
      if (location === null) return at;
      at = new URL(location, at);
      if (until(at)) return at;
    }
    throw new Error(`too many redirects: ${at.href}`);
  }

  get session(): string | undefined {
    return this.cookies.get('__Host-vnotes-session');
  }

  private keep(cookie: string): void {
    const [pair = '', ...attributes] = cookie.split(';');
    const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
    if (value === '' || attributes.some((attribute) => /max-age=0$/i.test(attribute.trim()))) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

const first = useService({ ROLES: 'api' });
let provider: OpenIdProvider;
let service: TestService;
let owner: ApiClient;
let subject: string;

beforeAll(async () => {
  owner = await first.account();
  provider = await OpenIdProvider.listen();
  first.environment.defer(() => provider.close());
  service = await begin();
  await provider.serve(service.url);
});

beforeEach(() => {
  subject = randomUUID();
  provider.subject = subject;
  provider.isDown = false;
  provider.people.set(subject, { name: 'Ada Byron', email: 'ada@example.com', groups: ['voice-admins', 'staff'] });
});

const begin = (others: object = {}) =>
  startService(first.environment, {
    ROLES: 'api',
    OIDC_PROVIDERS: JSON.stringify([
      provider.settings(owner.accountId, { title: 'Example Ltd', roles: ROLES, ...others }),
    ]),
  });

async function signIn(browser = new Browser()): Promise<SessionClient> {
  const end = await browser.go(`${service.url}/sign-in/example`);
  expect(end.href).toBe(`${service.url}/#session=begun`);
  const cookie = `__Host-vnotes-session=${browser.session}`;
  const { body } = await request(service.url).get('/v1/session').set('Cookie', cookie).expect(200);
  return new SessionClient(service.url, cookie, body);
}

/** The part of the console's address that says what went wrong. */
async function problemOf(browser = new Browser(), path = '/sign-in/example'): Promise<string> {
  const end = await browser.go(`${service.url}${path}`, ({ hash }) => hash !== '');
  expect(browser.session).toBeUndefined();
  return end.hash;
}

/** As if the provider had been asked so long ago. */
const age = (client: SessionClient, interval: string, confirmed = interval) =>
  service.database.query(
    `UPDATE sessions SET checked_at = now() - $2::interval, confirmed_at = now() - $3::interval WHERE id = $1`,
    [client.session.id, interval, confirmed],
  );

/** A process that has never seen the session, so that nothing of it is in its memory. */
const elsewhere = async (client: SessionClient) => client.at((await begin()).url);

describe('Signing in with OpenID Connect (D102)', () => {
  it('makes a person and a member of whom the provider names, with the role of the highest group', async () => {
    provider.people.set(subject, { name: 'Ada', email: 'ada@example.com', groups: ['voice-readers', 'voice-admins'] });
    const client = await signIn();
    const { body } = await client.get('/v1/session').expect(200);
    expect(body).toMatchObject({ account_id: owner.accountId, role: 'admin' });
    expect(body.person).toMatchObject({ name: 'Ada', email: 'ada@example.com' });
    await client.get('/v1/recordings').expect(200);
  });

  it('is offered to pages that ask with whom one can sign in', async () => {
    const { body } = await request(service.url).get('/v1/sign-in-providers').expect(200);
    expect(body.providers).toEqual([{ name: 'example', title: 'Example Ltd', path: '/sign-in/example' }]);
    expect((await request(first.url).get('/v1/sign-in-providers').expect(200)).body.providers).toEqual([]);
    expect((await signIn()).session).toMatchObject({ provider: 'example' });
  });

  it('finds the person again by issuer and subject, whatever the e-mail address', async () => {
    const before = await signIn();
    provider.people.set(subject, { name: 'Ada King', email: 'king@example.com', groups: ['voice-readers'] });
    const again = await signIn();
    expect(again.session.person).toEqual({ ...before.session.person, name: 'Ada King', email: 'king@example.com' });
    expect((await before.get('/v1/session').expect(200)).body.role).toBe('viewer');

    const other = randomUUID();
    provider.people.set(other, { name: 'Eve', email: 'king@example.com', groups: ['voice-readers'] });
    provider.subject = other;
    expect((await signIn()).session.person.id).not.toBe(again.session.person.id);
  });

  it('lets in nobody without a group that has a role', async () => {
    provider.people.set(subject, { name: 'Eve', email: 'ada@example.com', groups: ['staff'] });
    expect(await problemOf()).toBe('#sign-in-problem=stranger');
  });

  it('says what went wrong: refused there, begun elsewhere, or no provider that answers', async () => {
    provider.subject = null;
    expect(await problemOf()).toBe('#sign-in-problem=refused');
    expect(await problemOf(new Browser(), '/sign-in/example/callback?code=x&state=y')).toBe('#sign-in-problem=expired');
    provider.isDown = true;
    const lonely = await begin();
    const end = await new Browser().go(`${lonely.url}/sign-in/example`, ({ hash }) => hash !== '');
    expect(end.hash).toBe('#sign-in-problem=unavailable');
    await request(service.url).get('/sign-in/nobody').expect(404);
  });

  it('takes an answer of the provider only in the browser that began, and once', async () => {
    const [mine, theirs] = [new Browser(), new Browser()];
    const callback = await mine.go(`${service.url}/sign-in/example`, ({ pathname }) => pathname.endsWith('/callback'));
    const path = `${callback.pathname}${callback.search}`;
    expect(await problemOf(theirs, path)).toBe('#sign-in-problem=expired');
    await theirs.go(`${service.url}/sign-in/example`, ({ pathname }) => pathname.endsWith('/callback'));
    expect(await problemOf(theirs, path)).not.toBe('');
    const kept = new Map(mine.cookies);
    await mine.go(callback.href);
    expect(mine.session).toBeDefined();
    const replay = new Browser();
    for (const [name, value] of kept) replay.cookies.set(name, value);
    replay.cookies.delete('__Host-vnotes-session');
    expect(await problemOf(replay, path)).toBe('#sign-in-problem=refused');
  });

  it('ends all sessions of whom the provider has disabled', async () => {
    const client = await signIn();
    provider.people.set(subject, { ...provider.people.get(subject), isDisabled: true });
    await age(client, '21 seconds');
    const there = await elsewhere(client);
    expectError(await there.get('/v1/session'), 'AuthenticationError');
    expectError(await client.get('/v1/session'), 'AuthenticationError');
  });

  it('follows the groups: another role with the next question, no session without one', async () => {
    const client = await signIn();
    provider.people.set(subject, { name: 'Ada Byron', email: 'ada@example.com', groups: ['voice-readers'] });
    await age(client, '21 seconds');
    const there = await elsewhere(client);
    expect((await there.get('/v1/session').expect(200)).body.role).toBe('viewer');
    provider.people.set(subject, { name: 'Ada Byron', email: 'ada@example.com', groups: [] });
    await age(client, '21 seconds');
    expectError(await (await elsewhere(client)).get('/v1/session'), 'AuthenticationError');
  });

  it('asks once, however many requests and processes come at the same time', async () => {
    const client = await signIn();
    const processes = [await elsewhere(client), await elsewhere(client)];
    await age(client, '21 seconds');
    provider.paths.length = 0;
    const clients = processes.flatMap((each) => [each, each, each]);
    await Promise.all(clients.map((each) => each.get('/v1/session').expect(200)));
    expect(provider.paths.filter((path) => path === '/token')).toHaveLength(1);
    await processes[0]?.get('/v1/session').expect(200);
    expect(provider.paths.filter((path) => path === '/token')).toHaveLength(1);
  });

  it('outlives a provider that does not answer, for ten minutes', async () => {
    const client = await signIn();
    await age(client, '21 seconds');
    const [soon, later, back] = [await elsewhere(client), await elsewhere(client), await elsewhere(client)];
    provider.isDown = true;
    await soon.get('/v1/session').expect(200);
    await age(client, '21 seconds', '11 minutes');
    expectError(await later.get('/v1/session'), 'AuthenticationError');
    provider.isDown = false;
    await age(client, '21 seconds', '11 minutes');
    await back.get('/v1/session').expect(200);
  });

  it('keeps the last owner, whatever the groups', async () => {
    const lonely = await first.account();
    const groups = { roles: ROLES, account_id: lonely.accountId };
    provider.people.set(subject, { name: 'Ada', email: 'ada@example.com', groups: ['voice-owners'] });
    const main = service;
    service = await begin(groups);
    try {
      await provider.serve(service.url);
      expect((await signIn()).session).toMatchObject({ role: 'owner' });
      provider.people.set(subject, { name: 'Ada', email: 'ada@example.com', groups: ['voice-readers'] });
      expect((await signIn()).session).toMatchObject({ role: 'owner' });
    } finally {
      service = main;
      await provider.serve(service.url);
    }
  });

  it('takes no password of them, keeps no token that can be read, and leads out at the provider, too', async () => {
    const client = await signIn();
    const change = client.send('patch', '/v1/session/person', { password: 'three blue kites over Oslo' });
    expectInvalid(await change, 'password', /^must be changed at the provider/);
    const rows = JSON.stringify(
      await service.database.query('SELECT * FROM sessions WHERE id = $1', [client.session.id]),
    );
    expect(rows).toContain('provider_token');
    await client.send('delete', '/v1/session').expect(204);
    const end = await request(service.url).get('/sign-in/example/end').expect(302);
    expect(end.headers['location']).toMatch(`${provider.issuer}/session/end?`);
  });
});
