import type { Page } from 'playwright-core';
import { ApiClient } from '../../src/testing/api-client.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { transcribe } from '../support/state/recording-states.js';
import { button, go, heading, useConsole } from '../support/browser/browser.js';
import { expectGoodEverywhere, expectGoodState, tabTo } from '../support/browser/views.js';

/** Text that must never become part of the page. */
const MARKUP = '<b>bold</b> <img src=x onerror=alert(1)> שלום';

describe('the keys of the console', () => {
  const tested = useConsole();
  const { service } = tested;
  let account: ApiClient;

  beforeEach(() => {
    ({ account } = tested);
  });

  const open = (signedInAs = account, route = '/keys') => tested.open({ signedInAs, route });
  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name });
  const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());

  it('marks the key of the session, and shows each with its scopes, use and status', async () => {
    await account.post('/v1/account/api-keys', { name: MARKUP, scopes: ['recordings:read', 'webhooks:read'] });
    const { body } = await account.post('/v1/account/api-keys', { name: 'Revoked one' });
    await account.delete(`/v1/account/api-keys/${body.id}`).expect(204);
    const page = await open();
    await row(page, 'Test key').getByText('This session').waitFor();
    await row(page, MARKUP).getByText('webhooks:read').waitFor();
    expect(await row(page, 'Revoked one').count()).toBe(0);
    await expectGoodEverywhere(page, 'keys');

    await page.getByLabel('Status of the keys').selectOption('revoked');
    await row(page, 'Revoked one').waitFor();
    expect(await button(page, /^Revoke /).count()).toBe(0);
    await page.getByLabel('Status of the keys').selectOption('expired');
    await page.getByRole('heading', { name: 'No matching keys' }).waitFor();
    await expectGoodState(page, 'keys-none');
  });

  it('creates a key that works, and shows both halves until they are saved', async () => {
    const page = await open();
    await button(page, 'New key').click();
    const dialog = page.getByRole('dialog', { name: 'New API key' });
    await dialog.getByText('List, search and play recordings', { exact: false }).waitFor();
    await expectGoodEverywhere(page, 'key-new');
    await dialog.getByLabel('Name').fill('Backend');
    await dialog.getByLabel('Description').fill('For the nightly job');
    await dialog.getByRole('checkbox', { name: /account:read/ }).check();
    await dialog.getByLabel('Expires').selectOption('day');
    await dialog.getByLabel('Date').fill('2099-01-02');
    await button(page, 'Create key').click();

    const shown = page.getByRole('dialog', { name: 'Key created' });
    const [key, secret] = [await shown.getByText(/^vnk_/).innerText(), await shown.getByText(/^vns_/).innerText()];
    await expectGoodState(page, 'key-created');
    await shown.getByRole('button', { name: 'Copy API secret' }).click();
    expect(await clipboard(page)).toBe(secret);
    await button(page, 'Copy both').click();
    expect(await clipboard(page)).toBe(`${key}\n${secret}`);
    for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    await shown.getByText(secret).waitFor();
    await button(page, 'I have saved them').click();

    await row(page, 'Backend').getByText('2 Jan 2099', { exact: false }).waitFor();
    expect(await page.content()).not.toContain(secret);
    await button(page, 'Backend').first().click();
    await page.getByText('For the nightly job').waitFor();
    await page.getByText('The key “Test key”', { exact: false }).waitFor();
    await expectGoodEverywhere(page, 'key-details');
    await page.keyboard.press('Escape');
    const made = await account.get('/v1/account').set({ 'X-Service-API-Key': key, 'X-Service-API-Secret': secret });
    expect(made.status).toBe(200);
  });

  it('makes test keys, lists them on request, and marks the session of one', async () => {
    const page = await open();
    await page.getByLabel('Status of the keys').waitFor();
    expect(await page.getByText('Test mode').count()).toBe(0);
    await button(page, 'New key').click();
    await page.getByRole('dialog', { name: 'New API key' }).getByLabel('Name').fill('CI');
    await page.getByRole('checkbox', { name: /^Test key/ }).check();
    await button(page, 'Select all').click();
    await button(page, 'Create key').click();
    const shown = page.getByRole('dialog', { name: 'Key created' });
    const [key, secret] = [await shown.getByText(/^vnk_test_/).innerText(), await shown.getByText(/^vns_/).innerText()];
    await button(page, 'I have saved them').click();
    expect(await row(page, 'CI').count()).toBe(0);
    await page.getByLabel('Status of the keys').selectOption('test');
    await row(page, 'CI').getByText('Test', { exact: true }).waitFor();
    await expectGoodState(page, 'keys-test');

    const other = await open(new ApiClient(service.url, '', { id: '', key, secret }));
    await row(other, 'CI').getByText('This session').waitFor();
    await other.getByText('Test mode').first().waitFor();
    await button(other, 'New key').click();
    expect(await other.getByRole('checkbox', { name: /^Test key/ }).count()).toBe(0);
  });

  it('offers only the scopes that the key of the session holds', async () => {
    const page = await open(await service.key(account, ['account:read', 'account:write']));
    await button(page, 'New key').click();
    expect(await page.getByRole('checkbox', { name: /recordings:read/ }).isDisabled()).toBe(true);
    await button(page, 'Select all').click();
    expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(2);
  });

  it('revokes a key with those that it made, with the keyboard alone', async () => {
    const maker = await service.key(account, ['account:read', 'account:write']);
    await maker.post('/v1/account/api-keys', { name: 'Child' }).expect(201);
    const page = await open();
    await row(page, 'Child').waitFor();
    await expect(row(page, 'Test key').count()).resolves.toBe(2);
    // The newest is the first: the child, then its maker.
    await tabTo(page, 'button', 'Revoke Test key');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Revoke this key?' }).waitFor();
    await tabTo(
      page,
      'checkbox',
      'Also revoke the keys that it created Including keys that those created. Choose this if the key has leaked: someone may have created others with it.',
    );
    await page.keyboard.press('Space');
    await tabTo(page, 'button', 'Revoke key');
    await page.keyboard.press('Enter');
    await row(page, 'Child').waitFor({ state: 'detached' });
    // The row that had the focus is gone, too.
    await page.waitForFunction(() => document.activeElement?.closest('.key-table') !== null);
    await maker.get('/v1/account').expect(401);
    await account.get('/v1/account').expect(200);
  });

  it('warns before the key of the session is revoked, and signs out with it', async () => {
    const page = await open();
    await button(page, 'Revoke Test key').click();
    await page.getByText(/You are signed in with this key/).waitFor();
    await expectGoodEverywhere(page, 'key-revoke-own');
    await button(page, 'Cancel').click();
    await button(page, 'Revoke Test key').click();
    await button(page, 'Revoke and sign out').click();
    await page.getByLabel('API secret').waitFor();
    await account.get('/v1/account').expect(401);
  });

  it('voids the access tokens of one end user, and all', async () => {
    const tokenOf = async (identity: string) =>
      (await account.post('/v1/account/access-tokens', { identity }).expect(201)).body.token as string;
    const [ada, bob] = await Promise.all([tokenOf('ada'), tokenOf('bob')]);
    // A token may only upload: without a file it is refused for that, a void one for itself.
    const statusOf = async (token: string) => {
      const response = await fetch(`${service.url}/v1/recordings`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}` },
        body: new FormData(),
      });
      return response.status;
    };
    expect([await statusOf(ada), await statusOf(bob)]).toEqual([400, 400]);
    const page = await open();
    await page.getByLabel('End user').fill('ada');
    await button(page, 'Void tokens').click();
    await page.getByText('The tokens of this end user are now void.').waitFor();
    expect([await statusOf(ada), await statusOf(bob)]).toEqual([401, 400]);

    await button(page, 'Void all tokens…').click();
    await expectGoodState(page, 'keys-void-all');
    await page.getByRole('button', { name: 'Void all tokens', exact: true }).click();
    await page.getByText('All access tokens are now void.').waitFor();
    expect(await statusOf(bob)).toBe(401);
  });

  it('offers what the key of the session may do, and says why there is no more', async () => {
    const { body } = await account.upload(silenceWav(0.1)).expect(201);
    const id = body.id as string;
    await transcribe(service, id);
    const page = await open(await service.key(account, ['recordings:read']), '/');
    await page.getByRole('link', { name: 'note.wav' }).waitFor();
    await page.getByText('This key has limited access: recordings:read').waitFor();
    const pages = page.getByRole('navigation', { name: 'Pages' }).first().getByRole('link');
    expect(await pages.allTextContents()).toEqual(['Recordings']);
    await page.getByText('It needs the scope recordings:write.', { exact: false }).waitFor();
    for (const name of ['Upload', 'Record']) expect(await button(page, name).count()).toBe(0);
    expect(await page.getByRole('checkbox').count()).toBe(0);
    await expectGoodState(page, 'limited-list');

    await page.getByRole('link', { name: 'note.wav' }).click();
    await page.getByText('It needs the scope recordings:write.', { exact: false }).waitFor();
    await page
      .locator('summary', { has: page.locator('svg') })
      .last()
      .waitFor();
    await page.getByLabel('More', { exact: true }).click();
    await button(page, 'Details').waitFor();
    for (const name of ['Correct', 'Delete', 'Transcribe again…']) expect(await button(page, name).count()).toBe(0);
    await page.keyboard.press('Escape');
    await expectGoodState(page, 'limited-note');

    for (const [path, scope] of [
      ['/record', 'recordings:write'],
      ['/webhooks', 'webhooks:read'],
      ['/keys', 'account:read'],
      ['/usage', 'account:read'],
      ['/errors', 'account:read'],
    ] as const) {
      await go(page, path);
      await heading(page, 'This key cannot open this page').waitFor();
      await page.getByText(`It needs the scope ${scope}.`, { exact: false }).first().waitFor();
    }
    await expectGoodState(page, 'limited-page');
  });

  it('shows keys and webhooks to a key that may only read them', async () => {
    await account.post('/v1/webhooks', { url: 'https://hooks.example.com/', events: ['recording.failed'] }).expect(201);
    const page = await open(await service.key(account, ['account:read', 'webhooks:read']));
    await row(page, 'This session').waitFor();
    await page.getByText('It needs the scope account:write.', { exact: false }).waitFor();
    for (const name of ['New key', /^Revoke /, 'Void tokens']) expect(await button(page, name).count()).toBe(0);
    await expectGoodState(page, 'limited-keys');
    await go(page, '/webhooks');
    await page.getByRole('link', { name: /hooks\.example\.com/ }).click();
    await page.getByText('It needs the scope webhooks:write.', { exact: false }).waitFor();
    await button(page, 'Refresh').waitFor();
    for (const name of ['Send test', 'Edit', 'Resend…']) expect(await button(page, name).count()).toBe(0);
    await expectGoodState(page, 'limited-webhook');
  });
});
