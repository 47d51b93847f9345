import { randomUUID } from 'node:crypto';
import { startService, useService } from '../../src/testing/test-service.js';
import { button, heading, TestConsole } from '../support/browser/browser.js';
import { expectGood, expectGoodState } from '../support/browser/views.js';
import { OpenIdProvider } from '../support/servers/openid-provider.js';

describe('signing in at the console with OpenID Connect (D102)', () => {
  const first = useService({ ROLES: 'api' });
  let provider: OpenIdProvider;
  let tested: TestConsole;

  beforeAll(async () => {
    const account = await first.account();
    provider = await OpenIdProvider.listen();
    first.environment.defer(() => provider.close());
    const settings = provider.settings(account.accountId, { title: 'Example Ltd', roles: { staff: 'editor' } });
    const service = await startService(first.environment, { ROLES: 'api', OIDC_PROVIDERS: JSON.stringify([settings]) });
    await provider.serve(service.url);
    tested = new TestConsole(service, {});
    await tested.start();
    first.environment.defer(() => tested.close());
  });
  afterEach(() => tested.closePages());

  /** The browser goes there, and nowhere else. */
  const open = () =>
    tested.open({ signedInAs: null, expectedProblems: [new RegExp(`^request to ${provider.issuer}/`)] });

  it('goes there and back, works with the cookie alone, and signs out there, too', async () => {
    provider.subject = randomUUID();
    provider.people.set(provider.subject, { name: 'Ada Byron', email: 'ada@example.com', groups: ['staff'] });
    const page = await open();
    const signIn = page.getByRole('link', { name: 'Sign in with Example Ltd' });
    await signIn.waitFor();
    await expectGoodState(page, 'oidc-sign-in');
    await signIn.click();
    await heading(page, 'Recordings').waitFor();
    await page.reload();
    await heading(page, 'Recordings').waitFor();
    expect(page.url()).toBe(`${tested.service.url}/#/`);
    await page.evaluate(() => (location.hash = '/profile'));
    await page.getByText('You change your name, e-mail address and password where you sign in').waitFor();
    await expectGood(page, 'oidc-profile');
    const ended = page.waitForRequest(`${provider.issuer}/session/end?**`);
    await button(page, 'Sign out').first().click();
    await ended;
  });

  it('says why nobody is signed in', async () => {
    provider.subject = randomUUID();
    provider.people.set(provider.subject, { name: 'Eve', email: 'eve@example.com', groups: [] });
    const page = await open();
    await page.getByRole('link', { name: 'Sign in with Example Ltd' }).click();
    await page.getByText('You are in no group that may use this account.').waitFor();
    await expectGood(page, 'oidc-stranger');
    provider.subject = null;
    await page.getByRole('link', { name: 'Sign in with Example Ltd' }).click();
    await page.getByText('You were not signed in there.').waitFor();
  });
});
