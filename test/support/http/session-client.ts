import { randomUUID } from 'node:crypto';
import request, { type Test } from 'supertest';
import type { Role } from '../../../src/access/roles.js';
import { PeopleService } from '../../../src/modules/people/people.service.js';
import type { TestService } from '../../../src/testing/test-service.js';

/** Of people in tests. */
export const PASSWORD = 'three blue kites over Oslo';

/** A page of the service, in the browser of a person who has signed in. */
export class SessionClient {
  constructor(
    readonly url: string,
    readonly cookie: string,
    readonly session: { id: string; person: { id: string; email: string }; memberships: { id: string }[] },
  ) {}

  /** The same browser at another process. */
  at(url: string): SessionClient {
    return new SessionClient(url, this.cookie, this.session);
  }

  get headers(): Record<string, string> {
    return { Cookie: this.cookie, 'Sec-Fetch-Site': 'same-origin' };
  }

  send(method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: string, body?: object): Test {
    const sending = request(this.url)[method](path).set(this.headers);
    return body === undefined ? sending : sending.send(body);
  }

  get(path: string): Test {
    return this.send('get', path);
  }
}

/** A link that signs in a member with this address and role, who is new if the account has none. */
export async function linkFor(
  service: TestService,
  accountId: string,
  { email, role = 'owner', name = 'Ada Byron' }: { email: string; role?: Role; name?: string },
): Promise<string> {
  const { link } = await service.app.get(PeopleService).createLink(accountId, { email, role, name });
  return link.token;
}

/** A session of a member of the account. */
export async function signIn(
  service: TestService,
  accountId: string,
  member: { email: string; role?: Role; name?: string },
): Promise<SessionClient> {
  const link = await linkFor(service, accountId, member);
  return clientOf(service.url, await fromElsewhere(service, '/v1/sessions', { link }).expect(201));
}

/** Somebody new, with a password, whom a member invites. */
export async function invite(
  service: TestService,
  by: SessionClient,
  { email, role, name = 'Ben' }: { email: string; role: Role; name?: string },
): Promise<SessionClient> {
  const link = await invitationFor(by, { email, role });
  const body = { link, name, password: PASSWORD };
  return clientOf(service.url, await fromElsewhere(service, '/v1/invitations/accept', body).expect(201));
}

/** The link of an invitation. */
export async function invitationFor(
  by: SessionClient,
  { email, role }: { email: string; role: Role },
): Promise<string> {
  const { body } = await by.send('post', '/v1/account/invitations', { email, role }).expect(201);
  return linkIn(body);
}

/** Of an answer that shows the page for it. */
export const linkIn = ({ url }: { url: string }): string => url.slice(url.indexOf('=') + 1);

/** Without a session. Each call has an address of its own with TRUST_PROXY=1, so that attempts of others do not count. */
export const fromElsewhere = ({ url }: { url: string }, path: string, body: object): Test =>
  request(url)
    .post(path)
    .set('X-Forwarded-For', `2001:db8:${randomUUID().slice(0, 4)}::1`)
    .send(body);

/** Of the answer to a sign-in. */
export function clientOf(url: string, answer: Awaited<Test>): SessionClient {
  const [cookie = ''] = answer.headers['set-cookie'] as unknown as string[];
  return new SessionClient(url, cookie.split(';', 1)[0] as string, answer.body as SessionClient['session']);
}
