import type { Page, Route } from 'playwright-core';
import type { ApiClient } from '../../src/testing/api-client.js';
import { wavOfBytes } from '../support/audio/audio-bytes.js';
import { dragFiles, dropFiles, limitUploads, pasteFile, speechFile } from '../support/browser/drop-files.js';
import { TcpProxy } from '../support/servers/tcp-proxy.js';
import { withoutTokens } from '../support/state/without-tokens.js';
import { signInByLink, useConsole } from '../support/browser/browser.js';
import { expectGood, screenshot } from '../support/browser/views.js';

const MARKUP = '<img src=x onerror=alert(1)> “note”.wav';

const isUpload = (route: Route) => route.request().method() === 'POST';

describe('uploads in the console', () => {
  const tested = useConsole();
  const { service } = tested;
  let client: ApiClient;

  beforeEach(() => {
    client = tested.account;
  });

  const tray = (page: Page) => page.getByRole('region', { name: 'Uploads' });
  const row = (page: Page, name: string) => tray(page).getByRole('listitem').filter({ hasText: name });
  const says = (page: Page, name: string, text: string | RegExp) =>
    row(page, name).getByText(text, { exact: true }).waitFor();
  const stored = async () =>
    (await client.get('/v1/recordings').expect(200)).body as { total: number; recordings: Record<string, unknown>[] };
  /** Answers the next upload of the page instead of the service. */
  const refuseOnce = (page: Page, status: number, type: string, details: object = {}) =>
    page.route(
      '**/v1/recordings',
      (route) =>
        isUpload(route)
          ? route.fulfill({
              status,
              json: { error: { message: 'The quota of stored bytes is used up.', type, details } },
            })
          : route.fallback(),
      { times: 1 },
    );

  it('takes many files that are dropped on any page, two at a time, whatever their names', async () => {
    const page = await tested.open();
    let [running, most] = [0, 0];
    page.on('request', (request) => request.method() === 'POST' && (most = Math.max(most, (running += 1))));
    page.on('requestfinished', (request) => request.method() === 'POST' && (running -= 1));
    const names = Array.from({ length: 11 }, (_, i) => `note ${i}.wav`);
    await dragFiles(page);
    await page.getByText('Drop audio files to upload them').waitFor();
    await expectGood(page, 'uploads-drop', { fullPage: false });
    await dropFiles(
      page,
      [MARKUP, ...names].map((name) => speechFile('cards-001.wav', name)),
    );
    await page.getByText('Drop audio files to upload them').waitFor({ state: 'detached' });
    await tray(page).getByRole('button', { name: 'Uploads: 12 sent' }).waitFor();
    await page
      .getByRole('paragraph')
      .filter({ hasText: /^12 recordings$/ })
      .first()
      .waitFor();
    expect(most).toBe(2);
    const { total, recordings } = await stored();
    expect(total).toBe(12);
    expect(recordings.map(({ original_filename }) => original_filename)).toEqual(
      expect.arrayContaining([MARKUP, ...names]),
    );
    expect(await page.getByText(MARKUP).count()).toBeGreaterThan(0);
    await expectGood(page, 'uploads-sent', { fullPage: false });
    await tray(page).getByRole('button', { name: 'Clear', exact: true }).click();
    await tray(page).waitFor({ state: 'detached' });
  });

  it('makes one recording of an upload that a reload interrupted', async () => {
    const page = await tested.open();
    // Seven seconds and more in which it is neither begun nor done.
    await limitUploads(page, 40_000);
    await dropFiles(page, [{ name: 'long.wav', bytes: wavOfBytes(300_000) }]);
    await says(page, 'long.wav', /[1-9]\d% sent/);
    await page.reload();
    await limitUploads(page);
    await signInByLink(page, client);
    await says(page, 'long.wav', 'Sent');
    expect((await stored()).total).toBe(1);
  });

  it('makes one recording when the answer was lost after the service had stored it', async () => {
    const page = await tested.open();
    let lost = 0;
    await page.route('**/v1/recordings', async (route) => {
      if (!isUpload(route) || lost > 0) return await route.fallback();
      lost += 1;
      await route.fetch();
      await route.abort('connectionreset');
    });
    await dropFiles(page, [speechFile()]);
    await says(page, 'go-forward', 'Sent');
    expect(lost).toBe(1);
    expect((await stored()).total).toBe(1);
  });

  it('sends as new, when asked to, what arrived unnoticed and was deleted', async () => {
    const page = await tested.open();
    await page.route(
      '**/v1/recordings',
      async (route) => {
        await route.fetch();
        const [first] = (await stored()).recordings;
        await client.delete(`/v1/recordings/${String(first?.id)}`).expect(204);
        await route.abort('connectionreset');
      },
      { times: 1 },
    );
    await pasteFile(page, speechFile());
    await says(page, 'go-forward', /This was sent before, and the recording has been deleted./);
    await row(page, 'go-forward').getByRole('button', { name: 'Send as new' }).click();
    await says(page, 'go-forward', 'Sent');
    expect((await stored()).total).toBe(1);
  });

  it('asks before it repeats an upload without an answer of yesterday', async () => {
    const page = await tested.open();
    await page.route('**/v1/recordings', (route) => (isUpload(route) ? route.abort() : route.fallback()));
    await dropFiles(page, [speechFile()]);
    await says(page, 'go-forward', /Cannot reach the service/);
    await ageAttempts(page, 24 * 3_600_000);
    await page.unroute('**/v1/recordings');
    await page.reload();
    await signInByLink(page, client);
    await says(page, 'go-forward', /An earlier attempt got no response, so this may have been uploaded already./);
    await row(page, 'go-forward').getByRole('button', { name: 'Send again' }).click();
    await says(page, 'go-forward', 'Sent');
  });

  it('waits for the network and for a service that is away, and goes on by itself', async () => {
    const proxy = await TcpProxy.to(service.url);
    service.environment.defer(() => proxy.close());
    client = client.at(proxy.url.replace(/\/$/, ''));
    const page = await tested.open({ signedInAs: client, expectedProblems: [/ERR_/] });
    await tray(page).waitFor({ state: 'detached' });
    await page.context().setOffline(true);
    await dropFiles(page, [speechFile()]);
    await says(page, 'go-forward', 'Offline. Resumes automatically.');
    await expectGood(page, 'uploads-waiting', { fullPage: false });
    await proxy.cut();
    await page.context().setOffline(false);
    await says(page, 'go-forward', /Cannot reach the service. Trying again (in \d+ s|now)/);
    await proxy.mend();
    await row(page, 'go-forward').getByRole('button', { name: 'Try now' }).click();
    await says(page, 'go-forward', 'Sent');
  });

  it('leaves the requests of a small plan to the pages, and sends at once what a person asks for', async () => {
    client = await service.account('free');
    const refused: string[] = [];
    const arrange = async (opened: Page): Promise<void> =>
      void opened.on('response', (response) => {
        if (response.status() === 429) refused.push(response.url());
      });
    const page = await tested.open({ signedInAs: client, arrange });
    await page.getByRole('heading', { name: 'Your first voice note' }).waitFor();
    await dropFiles(
      page,
      Array.from({ length: 12 }, (_, i) => speechFile('cards-001.wav', `note ${i}.wav`)),
    );
    await says(page, 'note 11.wav', /Close to the rate limit. Resumes (in \d+ s|now)./);
    await expectGood(page, 'uploads-waiting', { fullPage: false });
    await page.getByRole('link', { name: 'Usage', exact: true }).click();
    await page.getByText('Stored audio').waitFor();
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    expect(await tray(page).getByText('Sent', { exact: true }).count()).toBeLessThan(6);
    await row(page, 'note 11.wav').getByRole('button', { name: 'Send now' }).click();
    await says(page, 'note 11.wav', 'Sent');
    expect(refused).toEqual([]);
  });

  it('counts down after a 429 and goes on by itself', async () => {
    client = await service.account('free');
    const page = await tested.open({ signedInAs: client });
    await withoutTokens(client, async () => {
      await dropFiles(page, [speechFile()]);
      await says(page, 'go-forward', /Too many requests. Resumes in \d+ s./);
    });
    await expectGood(page, 'uploads-429', { fullPage: false });
    await says(page, 'go-forward', 'Sent');
  });

  it('keeps what the service refused, and says what to do', async () => {
    const page = await tested.open();
    await dropFiles(page, [{ name: 'letter.wav', bytes: Buffer.from('Dear Sir or Madam') }]);
    await says(page, 'letter.wav', /This looks like text, which cannot be transcribed. Choose audio in webm/);
    await refuseOnce(page, 413, 'PayloadTooLargeError');
    await dropFiles(page, [speechFile('jfk.wav')]);
    await says(page, 'jfk', /larger than the limit of 25 MB/);
    await refuseOnce(page, 403, 'QuotaExceededError');
    await dropFiles(page, [speechFile()]);
    await says(page, 'go-forward', /The quota of stored bytes is used up/);
    await expectGood(page, 'uploads-refused', { fullPage: false });

    await page.reload();
    await signInByLink(page, client);
    await row(page, 'go-forward').getByRole('button', { name: 'Try again' }).click();
    await says(page, 'go-forward', 'Sent');
    await row(page, 'letter').getByRole('button', { name: 'Discard' }).click();
    await row(page, 'jfk').getByRole('button', { name: 'Discard' }).click();
    await tray(page).getByRole('button', { name: 'Uploads: 1 sent' }).waitFor();
    expect((await stored()).total).toBe(1);
  });

  it('takes files from the dialog of the browser, and sends none that is empty or over 25 MB', async () => {
    const page = await tested.open({ route: '/record' });
    const opened = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Upload files' }).click();
    await (await opened).setFiles([{ name: 'small.wav', mimeType: 'audio/wav', buffer: speechFile().bytes }]);
    await dropFiles(page, [{ name: 'large.wav', bytes: 26_214_401 }]);
    await says(page, 'small.wav', 'Sent');
    await dropFiles(page, [{ name: 'nothing.wav', bytes: 0 }]);
    await says(page, 'nothing.wav', /This file is empty/);
    await says(page, 'large.wav', /larger than the limit of 25 MB/);
    expect((await stored()).total).toBe(1);
  });

  it('leaves the end of the list in sight, and shows first and whole what needs the person', async () => {
    const page = await tested.open({ height: 640 });
    const long = `${'a very long name '.repeat(8)}.wav`;
    await dropFiles(page, [{ name: 'letter.wav', bytes: Buffer.from('Dear Sir or Madam') }]);
    await says(page, 'letter.wav', /This looks like text/);
    await dropFiles(
      page,
      [long, ...Array.from({ length: 11 }, (_, i) => `note ${i}.wav`)].map((name) => speechFile('cards-001.wav', name)),
    );
    const toggle = tray(page).getByRole('button', { name: 'Uploads: 12 of 13 sent, 1 needs attention' });
    await toggle.waitFor();
    await page.getByText('12 recordings').first().waitFor();
    expect(await tray(page).getByRole('listitem').first().innerText()).toContain('letter.wav');
    for (const width of [1280, 1024, 360]) {
      await page.setViewportSize({ width, height: 640 });
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      await screenshot(page, `uploads-tray-${width}`, { fullPage: false });
      const places = await page.evaluate(() => {
        const place = (selector: string) => (document.querySelector(selector) as Element).getBoundingClientRect();
        const label = document.querySelector('.upload-toggle > span') as Element;
        return {
          list: place('.list-card').bottom,
          tray: place('.upload-tray').top,
          bottom: place('.upload-tray').bottom,
          isWhole: label.scrollWidth <= label.clientWidth || getComputedStyle(label).overflow === 'visible',
        };
      });
      expect(places.list).toBeLessThanOrEqual(places.tray);
      expect(places.bottom).toBeLessThanOrEqual(640);
      expect(places.isWhole).toBe(true);
    }
  });

  it('waits for the next sign-in when the key was revoked', async () => {
    const key = await service.key(client, ['recordings:read', 'recordings:write', 'account:read']);
    const page = await tested.open({ signedInAs: key });
    await page.getByRole('heading', { name: 'Recordings' }).waitFor();
    await client.delete(`/v1/account/api-keys/${key.credentials.id}`).expect(204);
    await dropFiles(page, [speechFile()]);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await signInByLink(page, client);
    await says(page, 'go-forward', 'Sent');
    expect((await stored()).total).toBe(1);
  });

  it('sends a file once from two tabs, and from the other when one is closed', async () => {
    const first = await tested.open();
    const second = await first.context().newPage();
    await signInByLink(second, client);
    await limitUploads(first, 60_000);
    await dropFiles(first, [{ name: 'long.wav', bytes: wavOfBytes(600_000) }]);
    await says(first, 'long.wav', /\d% sent/);
    await says(second, 'long.wav', 'Another tab is sending this');
    await first.close();
    await says(second, 'long.wav', 'Sent');
    expect((await stored()).total).toBe(1);
  });

  it('sends from memory when the storage of the browser is full, and says so', async () => {
    const page = await tested.open();
    await page.evaluate(() => {
      IDBObjectStore.prototype.put = () => {
        throw new DOMException('full', 'QuotaExceededError');
      };
    });
    await page.context().setOffline(true);
    await dropFiles(page, [speechFile()]);
    await says(page, 'go-forward', /Browser storage is full/);
    await page.context().setOffline(false);
    await says(page, 'go-forward', 'Sent');
  });

  it('is used with the keyboard alone', async () => {
    const page = await tested.open({ width: 360, theme: 'dark' });
    await dropFiles(page, [
      { name: 'ملاحظة صوتية.wav', bytes: Buffer.from('no audio') },
      speechFile('jfk.wav', `${'a very long name '.repeat(8)}.wav`),
    ]);
    const toggle = tray(page).getByRole('button', { name: /Uploads: 1 of 2 sent, 1 needs attention/ });
    await toggle.waitFor();
    await toggle.focus();
    if ((await toggle.getAttribute('aria-expanded')) === 'false') await page.keyboard.press('Enter');
    await expectGood(page, 'uploads-360-dark', { fullPage: false });
    for (let i = 0; i < 5; i += 1) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
      if (focused?.startsWith('Discard')) break;
    }
    await page.keyboard.press('Enter');
    await tray(page).getByRole('button', { name: 'Uploads: 1 sent' }).waitFor();
  });
});

/** Makes the first attempts of what waits in the browser older. */
async function ageAttempts(page: Page, ms: number): Promise<void> {
  await page.evaluate(
    (age) =>
      new Promise<void>((resolve) => {
        const opening = indexedDB.open('voice-notes');
        opening.addEventListener('success', () => {
          const transaction = opening.result.transaction('items', 'readwrite');
          const cursor = transaction.objectStore('items').openCursor();
          cursor.addEventListener('success', () => {
            const item = cursor.result?.value as { attempted: { at: number; by: string } } | undefined;
            if (item) cursor.result?.update({ ...item, attempted: { ...item.attempted, at: item.attempted.at - age } });
          });
          transaction.addEventListener('complete', () => resolve());
        });
      }),
    ms,
  );
}
