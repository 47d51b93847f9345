import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { Test } from 'supertest';
import type { Env } from '../../../src/platform/config/env.js';
import { MailError, MailerService } from '../../../src/platform/mail/mailer.service.js';
import { eventually } from '../../../src/testing/eventually.js';
import { startService, type TestService, useService } from '../../../src/testing/test-service.js';
import { expectError } from '../../support/http/expect-errors.js';
import {
  clientOf,
  fromElsewhere,
  invitationFor,
  linkIn,
  PASSWORD,
  type SessionClient,
  signIn,
} from '../../support/http/session-client.js';
import { MailServer, type TakenMail } from '../../support/servers/mail-server.js';

/** Without mail, on the same database. */
const silent = useService({ ROLES: 'api', TRUST_PROXY: '1' });
let mailServer: MailServer;
let service: TestService;
let accountId: string;
let owner: SessionClient;
const logged: unknown[][] = [];

const withMail = (smtpUrl: string): Promise<TestService> =>
  startService(silent.environment, {
    ROLES: 'api',
    TRUST_PROXY: '1',
    RECONCILE_SECONDS: '1',
    SMTP_URL: smtpUrl,
    SMTP_FROM: 'Voice notes <notes@example.com>',
    PUBLIC_URL: 'https://notes.example.com/voice',
  });

beforeAll(async () => {
  jest.spyOn(Logger.prototype, 'warn').mockImplementation((...parts) => void logged.push(parts));
  mailServer = await MailServer.listen();
  silent.environment.defer(() => mailServer.stop());
  service = await withMail(`smtp://ada:right@127.0.0.1:${mailServer.port}?tls=none`);
});

beforeEach(async () => {
  mailServer.refusal = undefined;
  ({ accountId } = await silent.account());
  owner = (await signIn(silent, accountId, { email: emailOf('olga'), name: 'Olga' })).at(service.url);
});

const emailOf = (name: string): string => `${name}-${randomUUID()}@example.com`;
const inviteByMail = (email: string): Test =>
  owner.send('post', '/v1/account/invitations', { email, role: 'editor' }).expect(201);
const ask = (email: string, at = service): Test => fromElsewhere(at, '/v1/sign-in-links', { email });
const mailTo = (email: string): Promise<TakenMail> => eventually(() => mailServer.to(email)[0]);
/** The secret of the link in a mail. */
const secretIn = ({ text }: TakenMail): string => /#(?:link|invitation)=(vn[il]_[\w-]{43})\n/.exec(text)?.[1] ?? '';
const rows = (): Promise<{ attempt: number; link_id: string | null }[]> =>
  silent.database.query('SELECT * FROM sign_in_mails');
const retryNow = () => silent.database.query('UPDATE sign_in_mails SET due_at = now()');
const isEmpty = () => eventually(async () => (await rows()).length === 0);
/** An attempt has ended, and the next one is later. */
const isPostponed = () =>
  eventually(async () => (await rows()).some(({ attempt }) => attempt > 0) && logged.some(isPostponement));
const isPostponement = ([, message]: unknown[]) => message === 'mail not sent; retrying';
async function member(name: string, email = emailOf(name)): Promise<SessionClient> {
  return (await signIn(silent, accountId, { email, name, role: 'editor' })).at(service.url);
}

describe('Mail (D104)', () => {
  it('brings an invitation to the address alone, once, and its link is shown to nobody else', async () => {
    const email = emailOf('ben');
    const { body } = await inviteByMail(email);
    expect(body.url).toBeNull();
    const mail = await mailTo(email);
    expect(mail.to).toEqual([email]);
    expect(mail.headers.get('from')).toBe('Voice notes <notes@example.com>');
    expect(mail.headers.get('auto-submitted')).toBe('auto-generated');
    expect(mail.text).toContain('Olga invites you to the account “Account');
    expect(mail.text).toContain(`https://notes.example.com/voice/#invitation=${secretIn(mail)}`);
    expect(mail.html).toContain(`<a href="https://notes.example.com/voice/#invitation=${secretIn(mail)}">`);
    const accepting = { link: secretIn(mail), name: 'Ben', password: PASSWORD };
    await fromElsewhere(service, '/v1/invitations/accept', accepting).expect(201);
    await isEmpty();
    expect(mailServer.to(email)).toHaveLength(1);
    expect(mailServer.users).toContain('ada');
  });

  it('waits for a server that is down, encrypted, and arrives once', async () => {
    const ben = await member('ben');
    const { email } = ben.session.person;
    await mailServer.stop();
    logged.length = 0;
    const links = `/v1/account/members/${ben.session.memberships[0]?.id}/links`;
    expect((await owner.send('post', links).expect(201)).body.url).toBeNull();
    await isPostponed();
    const waiting = JSON.stringify(await rows());
    expect(waiting).toContain('encrypted_token');
    expect(waiting).not.toContain('vnl_');
    await mailServer.start();
    await retryNow();
    const mail = await mailTo(email);
    await isEmpty();
    expect(mailServer.to(email)).toHaveLength(1);
    expect(mail.text).toContain('Olga has made a link with which you sign in');
    await fromElsewhere(service, '/v1/sessions', { link: secretIn(mail) }).expect(201);
    const said = JSON.stringify(logged);
    expect(said).not.toContain(email);
    expect(said).not.toContain('vnl_');
    expect(said).not.toContain('ada:right');
  });

  it('is tried again after a 4xx, with the same id, and not after a 5xx', async () => {
    const [first, second] = [emailOf('ben'), emailOf('cleo')];
    mailServer.refusal = 451;
    logged.length = 0;
    await inviteByMail(first);
    await isPostponed();
    const [row] = await silent.database.query<{ id: string }>('SELECT id FROM sign_in_mails');
    mailServer.refusal = undefined;
    await retryNow();
    expect((await mailTo(first)).headers.get('message-id')).toBe(`<${row?.id}@notes.example.com>`);
    await isEmpty();
    mailServer.refusal = 550;
    logged.length = 0;
    await inviteByMail(second);
    await eventually(() => logged.some(([, message]) => message === 'mail refused'));
    await isEmpty();
    expect(mailServer.to(second)).toEqual([]);
  });

  it('is not sent once its invitation was withdrawn', async () => {
    mailServer.refusal = 451;
    logged.length = 0;
    const { body } = await inviteByMail(emailOf('ben'));
    await isPostponed();
    await owner.send('delete', `/v1/account/invitations/${body.id}`).expect(204);
    expect(await rows()).toEqual([]);
  });

  it('has names of others in its text alone, each in one line', async () => {
    const email = emailOf('ben');
    const name = 'Acme\r\nBcc: eve@example.com\r\n\r\n<b>free</b>';
    await silent.database.query('UPDATE accounts SET name = $2 WHERE id = $1', [accountId, name]);
    await inviteByMail(email);
    const mail = await mailTo(email);
    expect(mail.to).toEqual([email]);
    expect(mail.headers.has('bcc')).toBe(false);
    expect(mail.headers.get('subject')).toBe('You are invited to voice notes');
    expect(mail.text).toContain('“Acme Bcc: eve@example.com <b>free</b>”');
    expect(mail.html).not.toContain('<b>');
  });

  it('goes to no server without TLS, or with a certificate that nobody trusts, unless the URL says so', async () => {
    const untrusted = await MailServer.listen({});
    silent.environment.defer(() => untrusted.stop());
    const mail = { id: randomUUID(), to: emailOf('ben'), subject: 'x', text: 'x', html: 'x' };
    const sender = (smtpUrl: string) =>
      new MailerService({ smtpUrl, smtpFrom: 'a@example.com', publicUrl: 'https://notes.example.com' } as Env);
    for (const { port } of [mailServer, untrusted]) {
      await expect(sender(`smtp://127.0.0.1:${port}`).send(mail)).rejects.toThrow(MailError);
      await expect(sender(`smtps://127.0.0.1:${port}`).send(mail)).rejects.toThrow(MailError);
    }
    await expect(sender(`smtp://ada:wrong@127.0.0.1:${mailServer.port}?tls=none`).send(mail)).rejects.toMatchObject({
      isPermanent: false,
    });
    expect([...mailServer.to(mail.to), ...untrusted.to(mail.to)]).toEqual([]);
  });

  it('to one address is limited', async () => {
    const email = emailOf('ben');
    const answers = [];
    for (let i = 0; i < 11; i++)
      answers.push((await owner.send('post', '/v1/account/invitations', { email, role: 'viewer' })).status);
    expect(answers).toEqual([...Array(10).fill(201), 429]);
  });
});

describe('A link that somebody asks for (D104)', () => {
  it('comes by mail, signs in once, and is in the audit log; an address that nobody has gets the same answer', async () => {
    const ben = await member('ben');
    const { email } = ben.session.person;
    const [known, unknown] = [await ask(email.toUpperCase()).expect(204), await ask(emailOf('nobody')).expect(204)];
    expect(known.body).toEqual(unknown.body);
    const mail = await mailTo(email);
    await isEmpty();
    expect(mail.text).toContain('Somebody, probably you, has asked for a link');
    const again = clientOf(
      service.url,
      await fromElsewhere(service, '/v1/sessions', { link: secretIn(mail) }).expect(201),
    );
    expect(again.session).toMatchObject({ began_with: 'link', person: { id: ben.session.person.id } });
    expectError(await fromElsewhere(service, '/v1/sessions', { link: secretIn(mail) }), 'AuthenticationError');
    const { body } = await owner.get('/v1/account/audit-log?action=sign_in_link.requested').expect(200);
    expect(JSON.stringify(body)).toContain(ben.session.person.id);
  });

  it('comes three times in an hour, however often it is asked for, and ends no other link', async () => {
    const ben = await member('ben');
    const { email, id } = ben.session.person;
    for (let i = 0; i < 6; i++) await ask(email).expect(204);
    await eventually(() => mailServer.to(email).length === 3);
    await isEmpty();
    expect(mailServer.to(email)).toHaveLength(3);
    const [counted] = await silent.database.query<{ links: number }>(
      `SELECT count(*)::int AS links FROM sign_in_links WHERE person_id = $1 AND expires_at < now() + interval '61 minutes'`,
      [id],
    );
    expect(counted?.links).toBe(3);
  });

  it('is not made for people of several accounts, nor of a provider', async () => {
    const [ben, cleo, dora] = [await member('ben'), await member('cleo'), await member('dora')];
    const other = await silent.account();
    const olaf = await signIn(silent, other.accountId, { email: emailOf('olaf') });
    const link = await invitationFor(olaf, { email: emailOf('ben'), role: 'viewer' });
    await silent.database.query(`UPDATE sessions SET began_with = 'password' WHERE id = $1`, [ben.session.id]);
    await ben.send('post', '/v1/session/memberships', { link }).expect(201);
    await silent.database.query(
      `INSERT INTO identities (id, person_id, issuer, subject, created_at) VALUES (gen_random_uuid(), $1, 'https://login.example.com', 'cleo', now())`,
      [cleo.session.person.id],
    );
    for (const { session } of [ben, cleo, dora]) await ask(session.person.email).expect(204);
    await mailTo(dora.session.person.email);
    await isEmpty();
    expect([...mailServer.to(ben.session.person.email), ...mailServer.to(cleo.session.person.email)]).toEqual([]);
    const links = `/v1/account/members/${cleo.session.memberships[0]?.id}/links`;
    expectError(await owner.send('post', links), 'ConflictError');
  });

  it('needs a server for mail, and links', async () => {
    expectError(await ask(emailOf('ben'), silent), 'NotFoundError');
    const off = await startService(silent.environment, { ROLES: 'api', TRUST_PROXY: '1', SIGN_IN_WAYS: 'password' });
    const { status, body } = await ask(emailOf('ben'), off);
    expect({ status, code: body.error.code }).toEqual({ status: 403, code: 'SIGN_IN_WAY_OFF' });
    const invitation = await owner.at(silent.url).send('post', '/v1/account/invitations', {
      email: emailOf('ben'),
      role: 'viewer',
    });
    expect(linkIn(invitation.body)).toMatch(/^vni_/);
  });
});
