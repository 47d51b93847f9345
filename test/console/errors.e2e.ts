import type { Page } from 'playwright-core';
import { eventually } from '../../src/testing/eventually.js';
import { useConsole } from '../support/browser/browser.js';
import { expectGoodEverywhere, expectGoodState, tabTo } from '../support/browser/views.js';

describe('the errors page of the console', () => {
  const tested = useConsole();
  const { service } = tested;

  const open = (signedInAs = tested.account) => tested.open({ signedInAs, route: '/errors' });
  const line = (page: Page, name: RegExp) => page.getByRole('button', { name });

  const grouped = (count: number) =>
    eventually(async () => {
      const { body } = await tested.account.get('/v1/account/errors').expect(200);
      return (body as { errors: unknown[] }).errors.length === count;
    });

  /** Refused in five ways, of which one has a field whose name is markup. */
  async function refuse(): Promise<string> {
    const { account } = tested;
    const reader = await service.key(account, ['recordings:read']);
    for (let n = 0; n < 3; n += 1) await account.get('/v1/recordings?limit=0').expect(400);
    const { headers } = await account.get('/v1/recordings?limit=0').expect(400);
    await account.get('/v1/webhooks/nothing').expect(404);
    await account.get('/v1/nothing').expect(404);
    await reader.post('/v1/webhooks', {}).expect(403);
    const events = ['recording.failed'];
    await account.post('/v1/webhooks', { '<b>markup</b>': 1, url: 'https://example.com', events });
    await grouped(5);
    return String(headers['x-request-id']);
  }

  it('groups the refused requests, says what to do, and copies a request id', async () => {
    const requestId = await refuse();
    const page = await open();
    await line(page, /400 GET \/v1\/recordings 4 times/).click();
    await page.getByText('Correct “limit” as the message says.', { exact: false }).waitFor();
    await page.getByRole('button', { name: `Copy request ID ${requestId}` }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(requestId);
    // By the keyboard alone.
    const forbidden = line(page, /403 POST \/v1\/webhooks once/);
    await tabTo(page, 'button', (await forbidden.innerText()).replaceAll(/\s+/g, ' '));
    await page.keyboard.press('Enter');
    await page.getByText('The key does not have the scope', { exact: false }).waitFor();
    await page.getByText('<b>markup</b>', { exact: false }).first().waitFor();
    await expectGoodEverywhere(page, 'errors');

    await tested.account.get('/v1/recordings?limit=0').expect(400);
    await eventually(async () => {
      await line(page, /^Refresh/).click();
      return (await line(page, /400 GET \/v1\/recordings 5 times/).count()) === 1 || null;
    });
  });

  it('says that nothing was refused', async () => {
    const page = await open();
    await page.getByRole('heading', { name: 'No errors' }).waitFor();
    await expectGoodState(page, 'errors-none');
  });
});
