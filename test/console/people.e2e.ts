import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { button, go, heading, useConsole } from '../support/browser/browser.js';
import { dropFiles } from '../support/browser/drop-files.js';
import { expectGood, expectGoodEverywhere, expectGoodState } from '../support/browser/views.js';
import {
  invitationFor,
  invite,
  linkFor,
  PASSWORD,
  type SessionClient,
  signIn,
} from '../support/http/session-client.js';

const NEW_PASSWORD = 'four grey geese at dawn';

describe('people at the console', () => {
  const tested = useConsole();
  const { service } = tested;

  const emailOf = (name: string) => `${name}-${randomUUID()}@example.com`;
  const owner = (email = emailOf('olga')): Promise<SessionClient> =>
    signIn(service, tested.account.accountId, { email, name: 'Olga Owner' });
  const open = (options: Parameters<typeof tested.open>[0] = {}) => tested.open({ signedInAs: null, ...options });
  const list = (page: Page) => page.getByRole('heading', { level: 1, name: 'Recordings' }).waitFor();
  const isSignedOut = (page: Page) => page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  const openLink = async (hash: string, options = {}): Promise<Page> => {
    const page = await open(options);
    await go(page, hash);
    return page;
  };
  async function signInAs(email: string, password = PASSWORD, page?: Page): Promise<Page> {
    const used = page ?? (await open());
    await used.getByLabel('E-mail address').fill(email);
    await used.getByLabel('Password').fill(password);
    await button(used, 'Sign in').click();
    return used;
  }
  const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });

  it('begin with a link, set a password, and sign in with it', async () => {
    const email = emailOf('olga');
    const token = await linkFor(service, tested.account.accountId, { email, name: 'Olga Owner' });
    const page = await openLink(`#link=${token}`, { expectedProblems: [/401/] });
    await heading(page, 'Sign in with this link').waitFor();
    expect(page.url()).not.toContain('vnl_');
    await expectGoodState(page, 'person-link');
    await button(page, 'Sign in').click();
    await heading(page, 'Set a password').waitFor();
    await page.getByLabel('Password').fill('Password1234');
    await button(page, 'Set password').click();
    await page.getByText(/choose another/).waitFor();
    await expectGoodState(page, 'person-password');
    await page.getByLabel('Password').fill(PASSWORD);
    await button(page, 'Set password').click();
    await list(page);
    await page.reload();
    await list(page);
    await button(page, 'Sign out').first().click();
    await isSignedOut(page);
    await page.reload();
    await isSignedOut(page);
    await expectGoodEverywhere(page, 'person-sign-in');
    await signInAs(email, 'not the password', page);
    await page.getByRole('alert').getByText('The e-mail address or the password is not right').waitFor();
    await expectGood(page, 'person-refused');
    await signInAs(email, PASSWORD, page);
    await list(page);

    const again = await openLink(`#link=${token}`, { expectedProblems: [/401/] });
    await button(again, 'Sign in').click();
    await again.getByText('This link was used or has expired.').waitFor();
    await expectGood(again, 'person-link-used');
  });

  it('are offered the ways to sign in that the operator has left on', async () => {
    const page = await open();
    const offer = (ways: string[], sends_links = false) =>
      page.route('**/v1/sign-in-providers', (route) => route.fulfill({ json: { ways, sends_links, providers: [] } }));
    await offer(['link']);
    await page.reload();
    await page.getByText('Open the link that an administrator of your account has made for you.').waitFor();
    expect(await page.getByLabel('Password').count()).toBe(0);
    await expectGoodState(page, 'sign-in-without-password');
    const asked: unknown[] = [];
    await page.route('**/v1/sign-in-links', (route) => {
      asked.push(route.request().postDataJSON());
      return route.fulfill({ status: 204 });
    });
    await offer(['password', 'link'], true);
    await page.reload();
    const email = emailOf('olga');
    await button(page, 'Forgot your password?').click();
    await page.getByLabel('Send a link to').fill(email);
    await expectGoodState(page, 'sign-in-ask-for-link');
    await button(page, 'Send the link').click();
    await page.getByRole('status').getByText('a mail with a link is on its way').waitFor();
    expect(asked).toEqual([{ email }]);
    await offer(['link']);
    await page.reload();
    const token = await linkFor(service, tested.account.accountId, { email, name: 'Olga Owner' });
    await go(page, `#link=${token}`);
    await button(page, 'Sign in').click();
    await list(page);
    await go(page, '#/profile');
    await heading(page, 'Your sign-in').waitFor();
    expect(await page.getByLabel('New password').count()).toBe(0);
  });

  it('invite others, who see what their role allows, and change and remove them', async () => {
    const olga = await owner();
    await olga.send('patch', '/v1/session/person', { password: PASSWORD }).expect(200);
    const { email } = olga.session.person;
    const page = await signInAs(email);
    await list(page);
    await go(page, '/members');
    await page.getByText('Olga Owner').first().waitFor();
    await button(page, 'Invite').click();
    const dialog = page.getByRole('dialog', { name: 'Invite somebody' });
    await dialog.getByLabel('E-mail address').fill('ben@example.com');
    await expectGoodState(page, 'member-invite');
    await button(page, 'Create invitation').click();
    const shown = page.getByRole('dialog', { name: 'Invitation created' });
    const url = await shown.getByText(/#invitation=vni_/).innerText();
    await expectGood(page, 'member-invited');
    await button(page, 'I have saved it').click();
    await page.getByText('ben@example.com').waitFor();
    await expectGoodEverywhere(page, 'members');

    const his = await openLink(new URL(url).hash, { expectedProblems: [/401/] });
    await his.getByRole('heading', { name: /^Join / }).waitFor();
    await expectGoodEverywhere(his, 'invitation');
    await his.getByLabel('Your name').fill('Ben Editor');
    await his.getByLabel('Password').fill(PASSWORD);
    await button(his, 'Join').click();
    await list(his);
    for (const name of ['Webhooks', 'Keys', 'Usage', 'Members']) expect(await link(his, name).count()).toBe(0);
    await go(his, '/members');
    await heading(his, 'Your role cannot open this page').waitFor();
    await expectGood(his, 'member-no-access');
    await go(his, '/');
    await dropFiles(his, [{ name: 'by ben.wav', bytes: silenceWav(0.1) }]);
    await his
      .getByRole('link', { name: /by ben/ })
      .first()
      .waitFor();

    // The cookie opens a WebSocket, too, over which the page sends audio while it is recorded.
    const opened = await his.evaluate(
      () =>
        new Promise<boolean>((resolve) => {
          const socket = new WebSocket('v1/realtime?format=pcm16&sample_rate=16000', ['realtime']);
          socket.addEventListener('open', () => resolve(true));
          socket.addEventListener('error', () => resolve(false));
        }),
    );
    expect(opened).toBe(true);

    await page.reload();
    await page.getByLabel('Role of Ben Editor').selectOption('viewer');
    await page.getByText('Ben Editor is viewer now.').waitFor();
    await his.reload();
    await list(his);
    expect(await link(his, 'Record').count()).toBe(0);
    await button(page, 'Remove Ben Editor').click();
    await expectGood(page, 'member-remove');
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('Member removed.').waitFor();
    await his.reload();
    await isSignedOut(his);
    await his.getByText('Your session has ended.').waitFor();
  });

  it('get a link from an administrator, which is shown once', async () => {
    const olga = await owner();
    await olga.send('patch', '/v1/session/person', { password: PASSWORD }).expect(200);
    await invite(service, olga, { email: emailOf('ben'), role: 'viewer', name: 'Ben' });
    const page = await signInAs(olga.session.person.email);
    await list(page);
    await go(page, '/members');
    await button(page, 'Sign-in link for Ben').click();
    await button(page, 'Create link').click();
    const url = await page
      .getByRole('dialog', { name: 'Link created' })
      .getByText(/#link=vnl_/)
      .innerText();
    await expectGood(page, 'member-link');
    const his = await openLink(new URL(url).hash);
    await button(his, 'Sign in').click();
    await button(his, 'Not now').click();
    await list(his);
  });

  it('change their name and password, and end other sessions', async () => {
    const olga = await owner();
    await olga.send('patch', '/v1/session/person', { password: PASSWORD }).expect(200);
    const { email } = olga.session.person;
    const other = await signInAs(email, PASSWORD, await open({ expectedProblems: [/401/] }));
    await list(other);
    const page = await signInAs(email);
    await list(page);
    await go(page, '/profile');
    await heading(page, 'Where you have signed in').waitFor();
    await button(page, /^End the session/)
      .first()
      .waitFor();
    await expectGoodEverywhere(page, 'profile');
    await page.getByLabel('Your name').fill('Olga Byron');
    await button(page, 'Save name').click();
    await page.getByText('Name saved.').waitFor();
    await page.getByLabel('Current password').fill('wrong');
    await page.getByLabel('New password').fill(NEW_PASSWORD);
    await button(page, 'Change password').click();
    await page.getByText(/is not the password/).waitFor();
    await page.getByLabel('Current password').fill(PASSWORD);
    await button(page, 'Change password').click();
    await page.getByText(/Password changed/).waitFor();
    await other.reload();
    await isSignedOut(other);
    await list(await signInAs(email, NEW_PASSWORD, other));
  });

  it('join a second account with a link, and switch between both', async () => {
    const olga = await owner();
    await olga.send('patch', '/v1/session/person', { password: PASSWORD }).expect(200);
    const elsewhere = await service.account();
    const host = await signIn(service, elsewhere.accountId, { email: emailOf('otto'), name: 'Otto' });
    const token = await invitationFor(host, { email: emailOf('olga'), role: 'viewer' });
    const page = await signInAs(olga.session.person.email);
    await list(page);
    await go(page, `#invitation=${token}`);
    await button(page, 'Join as Olga Owner').waitFor();
    await expectGood(page, 'invitation-known');
    await button(page, 'Join as Olga Owner').click();
    await list(page);
    const choice = page.getByLabel('Account');
    expect(await choice.inputValue()).toBe(elsewhere.accountId);
    await expectGoodState(page, 'two-accounts');
    await choice.selectOption(tested.account.accountId);
    await link(page, 'Members').waitFor();
    expect(await choice.inputValue()).toBe(tested.account.accountId);
    await go(page, '/profile');
    await button(page, /^Leave Account/)
      .nth(1)
      .waitFor();
  });

  it('see the members with an API key, and are asked to sign in to change them', async () => {
    await owner();
    const page = await tested.open({ route: '/members' });
    await page.getByText('Olga Owner').waitFor();
    expect(await button(page, 'Invite').count()).toBe(0);
    await expectGood(page, 'members-key');
    expect(await link(page, 'Your sign-in').count()).toBe(0);
  });
});
