import { randomUUID } from 'node:crypto';
import type { CDPSession, Page } from 'playwright-core';
import { useService } from '../../src/testing/test-service.js';
import { button, go, TestConsole } from '../support/browser/browser.js';
import { expectGood, expectGoodEverywhere, expectGoodState } from '../support/browser/views.js';
import { invite, PASSWORD, signIn } from '../support/http/session-client.js';

describe('passkeys at the console (D103)', () => {
  const service = useService({ ROLES: 'api' });
  let tested: TestConsole;
  let email: string;

  beforeAll(async () => {
    // Browsers have passkeys for names, and none for numbers.
    const url = service.url.replace('127.0.0.1', 'localhost');
    tested = new TestConsole(Object.create(service, { url: { value: url } }) as typeof service, {});
    await tested.start();
  });
  beforeEach(async () => {
    const { accountId } = await service.account();
    const owner = await signIn(service, accountId, { email: `olga-${randomUUID()}@example.com` });
    email = `ben-${randomUUID()}@example.com`;
    await invite(service, owner, { email, role: 'viewer' });
  });
  afterEach(() => tested.closePages());
  afterAll(() => tested.close());

  const list = (page: Page) => page.getByRole('heading', { level: 1, name: 'Recordings' }).waitFor();
  const passkeyButton = (page: Page) => button(page, 'Sign in with a passkey');
  const open = async (): Promise<{ page: Page; devtools: CDPSession; authenticatorId: string }> => {
    const page = await tested.open({ signedInAs: null });
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    return { page, devtools, authenticatorId };
  };
  async function signInWithPassword(page: Page): Promise<void> {
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await list(page);
  }
  async function add(page: Page, name: string): Promise<void> {
    await go(page, '/profile');
    await page.getByLabel('Name of a new passkey').fill(name);
    await button(page, 'Add a passkey').click();
    await button(page, `Rename ${name}`).waitFor();
  }
  async function signOut(page: Page): Promise<void> {
    await button(page, 'Sign out').first().click();
    await passkeyButton(page).waitFor();
  }

  it('are added, sign in without a name, are renamed and removed', async () => {
    const { page } = await open();
    await passkeyButton(page).waitFor();
    await expectGoodState(page, 'passkey-sign-in');
    await signInWithPassword(page);
    await add(page, 'Laptop');
    await expectGoodEverywhere(page, 'passkey-profile');
    await signOut(page);
    await passkeyButton(page).click();
    await list(page);
    await page.reload();
    await list(page);

    await go(page, '/profile');
    await button(page, 'Rename Laptop').focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('New name of Laptop').and(page.locator(':focus')).fill('Phone');
    await expectGood(page, 'passkey-rename');
    await page.keyboard.press('Enter');
    await button(page, 'Rename Phone').and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await button(page, 'Cancel').click();
    await button(page, 'Rename Phone').and(page.locator(':focus')).waitFor();
    await button(page, 'Remove: Phone').click();
    await button(page, 'Remove now: Phone').click();
    await button(page, 'Rename Phone').waitFor({ state: 'detached' });
    await signOut(page);
    await passkeyButton(page).click();
    await page.getByRole('alert').getByText('This passkey does not sign in here.').waitFor();
    await expectGood(page, 'passkey-removed');
  });

  it('change nothing when the person dismisses the question', async () => {
    const { page, devtools, authenticatorId } = await open();
    await signInWithPassword(page);
    const dismissing = { authenticatorId, isUserVerified: false };
    await devtools.send('WebAuthn.setUserVerified', dismissing);
    await go(page, '/profile');
    await page.getByLabel('Name of a new passkey').fill('Laptop');
    await button(page, 'Add a passkey').click();
    await button(page, 'Waiting for your device').waitFor({ state: 'detached' });
    await button(page, 'Add a passkey').waitFor();
    expect(await button(page, 'Rename Laptop').count()).toBe(0);
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
    await button(page, 'Add a passkey').click();
    await button(page, 'Rename Laptop').waitFor();
    // The device has one already, and says so.
    await page.getByLabel('Name of a new passkey').fill('Laptop again');
    await button(page, 'Add a passkey').click();
    await page.getByText('This device has a passkey of yours already.').waitFor();
  });

  it('take the password in a session that has not just begun', async () => {
    const { page } = await open();
    await signInWithPassword(page);
    await service.database.query(
      `UPDATE sessions SET created_at = now() - interval '11 minutes'
       WHERE person_id = (SELECT id FROM people WHERE email = $1)`,
      [email],
    );
    await go(page, '/profile');
    await page.getByLabel('Name of a new passkey').fill('Laptop');
    await button(page, 'Add a passkey').click();
    await page.getByLabel('Your password').fill(PASSWORD);
    await expectGood(page, 'passkey-password');
    await button(page, 'Add a passkey').click();
    await button(page, 'Rename Laptop').waitFor();
  });
});
