import type { ApiClient } from '../../src/testing/api-client.js';
import { signatureProblems, WebhookReceiver } from '../../src/testing/webhook-receiver.js';
import { failRecordings } from '../support/state/recording-events.js';
import { button, go, hold, useConsole } from '../support/browser/browser.js';
import { expectGoodEverywhere, expectGoodState, tabTo } from '../support/browser/views.js';

/** Text that must never become part of the page. */
const MARKUP = '{"note":"<img src=x onerror=alert(1)><b>bold</b> שלום"}';

describe('the webhooks of the console', () => {
  // A delivery that fails has failed for good after a second.
  const tested = useConsole({ ROLES: 'api,deliverer', WEBHOOK_RETRY_SCHEDULE: '1' });
  const { service } = tested;
  let account: ApiClient;
  let receiver: WebhookReceiver;

  beforeEach(async () => {
    ({ account } = tested);
    receiver = await WebhookReceiver.listen();
  });
  afterEach(() => receiver.close());

  const open = (route = '/webhooks', signedInAs = account, expectedProblems: RegExp[] = []) =>
    tested.open({ signedInAs, route, expectedProblems });

  async function webhook(): Promise<{ id: string; route: string; secret: string }> {
    const events = ['recording.transcribed', 'recording.failed'];
    const { body } = await account.post('/v1/webhooks', { url: receiver.url(), events }).expect(201);
    return { ...body, route: `/webhooks/${body.id}` };
  }

  it('creates one, shows its secret until it is saved, and signs with it', async () => {
    const page = await open();
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    await expectGoodState(page, 'webhooks-empty');

    await button(page, 'New webhook').click();
    await page.getByLabel('URL').fill('https://localhost.internal/x');
    await expectGoodEverywhere(page, 'webhook-new');
    await button(page, 'Create webhook').click();
    await page.getByText(/^Url /).waitFor();
    await page.getByLabel('URL').fill(receiver.url('/hook?a=<b>'));
    await button(page, 'Create webhook').click();

    const shown = page.getByRole('dialog', { name: 'Webhook created' });
    const secret = await shown.getByText(/^whsec_/).innerText();
    await expectGoodEverywhere(page, 'webhook-secret');
    for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    await shown.getByText(secret).waitFor();
    await button(page, 'I have saved it').click();
    await page.getByRole('link', { name: /hook\?a=/ }).waitFor();
    await expectGoodEverywhere(page, 'webhooks');
    expect(await page.content()).not.toContain(secret);

    await failRecordings(service, account.accountId, 1);
    const [request] = await receiver.waitFor((requests) => requests.length === 1);
    expect(signatureProblems(request as never, secret)).toEqual([]);
  });

  it('sends a test and says what came back, and what to do', async () => {
    const page = await open((await webhook()).route);
    receiver.answerNext({ status: 500, body: MARKUP });
    await button(page, 'Send test').click();
    await page.getByText('HTTP 500').waitFor();
    await page.getByText('The receiver failed.', { exact: false }).waitFor();
    await page.getByText('<b>bold</b>', { exact: false }).waitFor();
    await expectGoodEverywhere(page, 'webhook-test-failed');

    await button(page, 'Send test').click();
    await page.getByText('HTTP 200').waitFor();
    await receiver.close();
    await button(page, 'Send test').click();
    await page.getByText(/Check the port and the firewall/).waitFor();
  });

  it('logs each delivery with its attempts, answer and body, and sends it again', async () => {
    const { route, secret } = await webhook();
    receiver.answerNext({ status: 503, body: MARKUP }, { status: 503, body: 'later' });
    const page = await open(route);
    await page.getByRole('heading', { name: 'No deliveries yet' }).waitFor();
    const [recording] = await failRecordings(service, account.accountId, 1);
    await receiver.waitFor((requests) => requests.length === 2);

    // Live: nobody presses anything.
    await button(page, /Failed.*recording\.failed.*HTTP 503 · 2 attempts/).click({ timeout: 20_000 });
    await page.getByRole('heading', { name: '2 attempts' }).waitFor();
    await page.getByRole('region', { name: 'Body' }).getByText(`"id": "${recording}"`).waitFor();
    await page.getByText('<b>bold</b>', { exact: false }).waitFor();
    await expectGoodEverywhere(page, 'webhook-delivery');

    await button(page, /^Resend$/).click();
    const requests = await receiver.waitFor((all) => all.length === 3);
    expect(signatureProblems(requests[2] as never, secret)).toEqual([]);
    expect(requests[2]?.body).toEqual(requests[0]?.body);
    await button(page, /Delivered.*HTTP 200 · 3 attempts/).waitFor({ timeout: 20_000 });

    await page.getByLabel('Status').selectOption('failed');
    await page.getByRole('heading', { name: 'No matching deliveries' }).waitFor();
    await page.goBack();
    await button(page, /Delivered/).waitFor();
    await page.goForward();
    await page.getByRole('heading', { name: 'No matching deliveries' }).waitFor();
    await button(page, 'Clear filters').click();
    await button(page, /Delivered/).waitFor();
  });

  it('sends a range of days again, and says how many', async () => {
    const { route } = await webhook();
    receiver.answerAlways({ status: 500 });
    await failRecordings(service, account.accountId, 3);
    await receiver.waitFor((requests) => requests.length === 6);
    receiver.answerAlways({ status: 200 });
    const page = await open(route);
    await page.getByText('1–3 of 3').waitFor();

    await button(page, 'Resend…').click();
    const dialog = page.getByRole('dialog', { name: 'Resend events' });
    const today = new Date().toISOString().slice(0, 10);
    await dialog.getByLabel('From (UTC)').fill(today);
    await dialog.getByText(/^3 failed in this period, plus any events missed/).waitFor({ timeout: 20_000 });
    await expectGoodState(page, 'webhook-send-again');
    await button(page, 'Resend').last().click();
    await dialog.getByText('3 events are being resent.', { exact: false }).waitFor();
    await receiver.waitFor((requests) => requests.length === 9);
    await button(page, 'Done').click();
  });

  it('edits, disables, enables and deletes one, and changes its secret with an overlap', async () => {
    const { route, secret } = await webhook();
    const page = await open(route);
    await button(page, 'Edit').click();
    await page.getByLabel('URL').fill(receiver.url('/moved'));
    await page.getByRole('checkbox', { name: /transcription\.corrected/ }).check();
    await button(page, 'Save').click();
    await page.getByText('/moved', { exact: false }).waitFor();

    await button(page, 'Disable').click();
    await page.getByText('This webhook is disabled', { exact: false }).waitFor();
    await expectGoodState(page, 'webhook-disabled');
    await button(page, 'Enable').click();
    await button(page, 'Disable').waitFor();

    await button(page, 'Change secret').click();
    await page.getByLabel('Keep the previous secret valid for').selectOption('6');
    await expectGoodState(page, 'webhook-change-secret');
    await button(page, 'Change secret').last().click();
    await page.getByText(/within 6 hours/).waitFor();
    const next = await page.getByText(/^whsec_/).innerText();
    await button(page, 'I have saved it').click();
    await button(page, 'Send test').click();
    const [request] = await receiver.waitFor((requests) => requests.length === 1);
    expect(request?.path).toBe('/moved');
    expect(signatureProblems(request as never, next)).toEqual([]);
    expect(signatureProblems(request as never, secret)).toEqual(['X-Service-Signature does not match']);

    await button(page, 'Delete').click();
    await expectGoodState(page, 'webhook-delete');
    await button(page, 'Cancel').click();
    await button(page, 'Delete').click();
    await button(page, 'Delete webhook').click();
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
  });

  it('offers a verifier in each language', async () => {
    const page = await open((await webhook()).route);
    for (const [language, code] of [
      ['Node', 'createHmac'],
      ['Python', 'hashlib'],
      ['Go', 'crypto/hmac'],
      ['Shell', 'openssl'],
    ] as const) {
      await page.getByText(language, { exact: true }).click();
      await page
        .getByRole('region', { name: `Verifier for ${language}` })
        .getByText(code)
        .first()
        .waitFor();
      await button(page, `Copy for ${language}`).waitFor();
    }
    await button(page, 'Copy for Shell').click();
    await button(page, 'Copied').waitFor();
  });

  it('is used with the keyboard alone', async () => {
    const page = await open();
    await button(page, 'New webhook').waitFor();
    await tabTo(page, 'button', 'New webhook');
    await page.keyboard.press('Enter');
    await tabTo(page, 'textbox', 'URL');
    await page.keyboard.type(receiver.url());
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Webhook created' }).waitFor();
    await tabTo(page, 'button', 'I have saved it');
    await page.keyboard.press('Enter');
    await tabTo(page, 'link', `${receiver.url()} Active recording.transcribed · recording.failed · created just now`);
    await page.keyboard.press('Enter');
    await tabTo(page, 'button', 'Send test');
    await page.keyboard.press('Space');
    await page.getByText('HTTP 200').waitFor();
    await tabTo(page, 'button', 'Close the result');
    await page.keyboard.press('Enter');
    await page.getByText('HTTP 200').waitFor({ state: 'detached' });
    expect(await page.evaluate(() => document.activeElement?.tagName)).not.toBe('BODY');
    await tabTo(page, 'button', 'Delete');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => document.activeElement?.textContent === 'Delete');
    await page.keyboard.press('Enter');
    await tabTo(page, 'button', 'Delete webhook');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    await page.waitForFunction(() => document.activeElement?.textContent === 'Webhooks');
  });

  it('keeps the focus on its button when the list arrives', async () => {
    const page = await open('/keys');
    const answer = await hold(page, '**/v1/webhooks*');
    await go(page, '/webhooks');
    await tabTo(page, 'button', 'New webhook');
    answer();
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'New webhook' }).waitFor();
  });

  it('tries again when the service was away', async () => {
    const page = await open('/keys', account, [/ERR_FAILED|Failed to load/]);
    await page.route('**/v1/webhooks*', (route) => route.abort());
    await go(page, '/webhooks');
    await page.getByRole('heading', { name: 'The service cannot be reached' }).waitFor({ timeout: 20_000 });
    await page.unroute('**/v1/webhooks*');
    // Nobody presses anything.
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
  });
});
