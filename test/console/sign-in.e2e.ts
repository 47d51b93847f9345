import type { Page } from 'playwright-core';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { dropFiles } from '../support/browser/drop-files.js';
import { withoutTokens } from '../support/state/without-tokens.js';
import { button, go, signInLink, storedItems, useConsole } from '../support/browser/browser.js';
import { expectGoodEverywhere, expectGoodState } from '../support/browser/views.js';

describe('signing in to the console', () => {
  const tested = useConsole();
  const { service } = tested;
  let account: ApiClient;

  beforeEach(() => {
    ({ account } = tested);
  });

  const open = (options = {}) => tested.open({ signedInAs: null, ...options });
  const list = (page: Page) => page.getByRole('heading', { level: 1, name: 'Recordings' }).waitFor();
  const withKey = (page: Page) => button(page, 'Use an API key').click();
  const form = (page: Page) => page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  const stored = (page: Page) =>
    page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));

  async function type(page: Page, { credentials }: ApiClient): Promise<void> {
    if (!(await page.getByLabel('API key').isVisible())) await withKey(page);
    await page.getByLabel('API key').fill(credentials.key);
    await page.getByLabel('API secret').fill(credentials.secret);
  }
  const submit = (page: Page) => page.getByRole('button', { name: 'Sign in' }).click();
  async function fill(page: Page, client = account): Promise<void> {
    await type(page, client);
    await submit(page);
  }

  it('refuses a wrong secret in words, and takes the right one, by the keyboard alone', async () => {
    const page = await open();
    await form(page);
    expect(await page.title()).toBe('Sign in · Voice notes');
    await withKey(page);
    await expectGoodEverywhere(page, 'sign-in');
    // The first field has the focus.
    await page.keyboard.type(account.credentials.key);
    await page.keyboard.press('Tab');
    await page.keyboard.type('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('This secret does not belong to this key').waitFor();
    await expectGoodEverywhere(page, 'sign-in-refused');
    await page.getByLabel('API secret').focus();
    await page.keyboard.press('Control+A');
    await page.keyboard.type(` ${account.credentials.secret} `);
    await page.keyboard.press('Enter');
    await list(page);
  });

  it('keeps the secret in the memory of the tab only, unless asked', async () => {
    const page = await open();
    await fill(page);
    await list(page);
    expect(await stored(page)).not.toContain(account.credentials.secret);
    await page.reload();
    await form(page);
  });

  it('stays signed in on the device if asked, and signs out in all tabs', async () => {
    const page = await open();
    await withKey(page);
    await page.getByLabel('Stay signed in on this device').check();
    await page.getByText(/stored in this browser/).waitFor();
    await fill(page);
    await list(page);
    await page.reload();
    await list(page);
    const other = await page.context().newPage();
    await other.goto(service.url);
    await list(other);
    await go(other, '/usage');
    await other.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();

    await page.getByRole('button', { name: 'Sign out' }).click();
    await form(page);
    expect(await stored(page)).not.toContain(account.credentials.key);
    await form(other);
    await other.getByText('You signed out in another tab.').waitFor();
    await page.reload();
    await form(page);
  });

  it('returns to the page where the key was refused', async () => {
    const [first, second] = [await service.key(account, ['recordings:read', 'account:read']), account];
    const page = await tested.open({ signedInAs: first, route: '/usage' });
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
    await second.delete(`/v1/account/api-keys/${first.credentials.id}`).expect(204);
    await go(page, '/?status=failed');
    await form(page);
    await page.getByText(/no longer works/).waitFor();
    await expectGoodState(page, 'sign-in-again');
    await fill(page, second);
    await list(page);
    await page.getByRole('button', { name: 'Failed', pressed: true }).waitFor();
  });

  it('says that the service cannot be reached, and signs in by itself when it is back', async () => {
    const page = await open();
    await form(page);
    await page.route('**/v1/**', (route) => route.abort());
    await fill(page);
    await page.getByRole('alert').getByText('The service cannot be reached').waitFor();
    await expectGoodState(page, 'sign-in-away');
    await page.getByText('Trying again automatically.').waitFor();
    await page.unroute('**/v1/**');
    await list(page);
  });

  it('counts down after too many requests, and goes on by itself', async () => {
    const free = await service.account('free');
    const page = await open();
    await type(page, free);
    await withoutTokens(free, async () => {
      await submit(page);
      await page.getByRole('alert').getByText('Too many requests').waitFor();
      await page.getByRole('button', { name: /Try again in [1-6] s/ }).waitFor();
    });
    await expectGoodState(page, 'sign-in-throttled');
    await list(page);
  });

  it('takes a link that is pasted into the open console', async () => {
    const page = await open();
    await form(page);
    const { secret } = account.credentials;
    const { hash } = new URL(await signInLink(account));
    await go(page, hash);
    await list(page);
    expect(await stored(page)).not.toContain(secret);
    expect(page.url()).not.toContain('code');
    await page.goBack();
    expect(await stored(page)).not.toContain(secret);
  });

  it('D65: a link works once, and says so the second time', async () => {
    const page = await open({ expectedProblems: [/401/] });
    const link = await signInLink(account);
    await page.goto('about:blank');
    await page.goto(link);
    await list(page);
    // Neither the address bar nor the history holds it.
    expect(page.url()).not.toContain('code');
    await go(page, '/usage');
    await page.goBack();
    expect(page.url()).not.toContain('code');
    await page.goBack();
    expect(page.url()).toBe('about:blank');
    await page.goForward();
    expect(page.url()).not.toContain('code');
    expect(await stored(page)).not.toContain(account.credentials.secret);
    const other = await page.context().newPage();
    await other.goto(link);
    await form(other);
    await other.getByText(/This link has expired or was already used/).waitFor();
    expect(other.url()).not.toContain('code');
    await expectGoodState(other, 'sign-in-used-link');
  });

  it('asks before a link takes a person who is signed in to another account', async () => {
    const stranger = await service.account();
    const page = await open();
    await withKey(page);
    await page.getByLabel('Stay signed in on this device').check();
    await fill(page);
    await list(page);
    const { hash } = new URL(await signInLink(stranger));
    const question = page.getByRole('dialog', { name: 'Sign in with this link?' });
    const key = () => page.evaluate(() => localStorage.getItem('voice-notes.credentials') ?? '');

    const other = await page.context().newPage();
    await other.goto(`${service.url}/${hash}`);
    await other.getByRole('dialog', { name: 'Sign in with this link?' }).waitFor();
    await expectGoodState(other, 'sign-in-question');
    await other.close();

    await go(page, hash);
    await question.getByRole('button', { name: 'Stay signed in' }).click();
    await question.waitFor({ state: 'hidden' });
    expect(await key()).toContain(account.credentials.key);
    expect(page.url()).not.toContain('code');

    await go(page, hash);
    await question.getByRole('button', { name: 'Use the link' }).click();
    await question.waitFor({ state: 'hidden' });
    await eventually(async () => (await key()) === '');
  });

  it('asks before signing out deletes what is not uploaded, and leaves nothing behind', async () => {
    // The icon may be asked for late.
    const page = await open({ expectedProblems: [/ERR_INTERNET_DISCONNECTED.*icon\.svg/] });
    await fill(page);
    await list(page);
    await page.context().setOffline(true);
    await dropFiles(page, [{ name: 'unsent.wav', bytes: silenceWav(0.1) }]);
    await page.getByText('unsent.wav').first().waitFor();
    await eventually(async () => (await storedItems(page)) === 1);
    const question = page.getByRole('dialog', { name: 'Sign out and delete unsent recordings?' });
    await page.getByRole('button', { name: 'Sign out' }).click();
    await question.getByRole('button', { name: 'Stay signed in' }).click();
    expect(await storedItems(page)).toBe(1);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await question.getByRole('button', { name: 'Sign out and delete' }).click();
    await form(page);
    expect(await storedItems(page)).toBe(0);
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    await page.context().setOffline(false);
  });
});
