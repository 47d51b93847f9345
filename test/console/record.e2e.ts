import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { SPEECH } from '../../src/testing/speech.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { useService } from '../../src/testing/test-service.js';
import { expectAccessible } from '../support/browser/accessibility.js';
import { signInByLink, useBrowser } from '../support/browser/browser.js';
import { screenshot } from '../support/browser/screenshot.js';

async function secondsOf(work: () => Promise<void>): Promise<number> {
  const begin = performance.now();
  await work();
  return (performance.now() - begin) / 1000;
}

describe('recording in the console', () => {
  const service = useService({ ROLES: 'api' });
  const browser = useBrowser({ microphone: join(SPEECH, 'go-forward-ten-meters.wav') });

  const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
  const tray = (page: Page) => page.getByRole('region', { name: 'Uploads' });
  const recorded = (page: Page, seconds: number) =>
    eventually(async () => {
      const [, minutes, rest] = /(\d+):(\d\d)/.exec((await page.getByRole('timer').textContent()) ?? '') ?? [];
      return Number(minutes) * 60 + Number(rest) >= seconds;
    });
  const start = async (page: Page) => {
    await button(page, 'Record').click();
    await button(page, 'Pause').waitFor();
  };
  /** As if this time had gone by at once. */
  const passTime = (page: Page, seconds: number) =>
    page.evaluate((ms) => {
      const now = performance.now.bind(performance);
      performance.now = () => now() + ms;
    }, seconds * 1000);
  const sent = async (client: ApiClient) => {
    const { body } = await client.get('/v1/recordings').expect(200);
    return (body as { recordings: { id: string; duration_seconds: number; custom_tags: object }[] }).recordings;
  };

  describe('with a service that transcribes', () => {
    const transcribing = useService({ POCKETSPHINX_PROCESSES: '1' });

    it('brings what was said into the microphone to its words on the page', async () => {
      const client = await transcribing.account();
      const page = await browser.page({ signedInAs: client, route: '/record' });
      await page.getByLabel('Title').fill('Steps 1/2 "go" v2.5');
      await page.getByLabel('Spoken language').selectOption('english');
      await button(page, 'Add a tag').click();
      await page.getByLabel('Name of tag 1').fill('project');
      await page.getByLabel('Value of tag 1').fill('atlas');
      await start(page);
      await recorded(page, 5);
      await expectAccessible(page);
      await screenshot(page, 'record-1280-light');
      await button(page, 'Finish and send').click();
      await tray(page).getByRole('link', { name: 'Open: Steps 1/2 "go" v2.5', exact: true }).click();
      await page.getByRole('heading', { name: 'Steps 1/2 "go" v2.5', exact: true }).waitFor();

      const [recording] = await sent(client);
      expect(recording).toMatchObject({ custom_tags: { project: 'atlas' }, upload_source: 'console' });
      await client.finished(recording?.id as string);
      const { body } = await client.get(`/v1/recordings/${recording?.id}/transcription`).expect(200);
      expect((body as { text: string }).text).toContain('go forward ten meters');
      await page
        .getByText(/go forward/)
        .first()
        .waitFor();
    });
  });

  it('leaves out what is said during a pause', async () => {
    const client = await service.account();
    const page = await browser.page({ signedInAs: client, route: '/record' });
    const before = await secondsOf(async () => {
      await start(page);
      await recorded(page, 1);
      await button(page, 'Pause').click();
      await page.getByText('Paused', { exact: true }).waitFor();
    });
    await page.getByLabel(/^Play Voice note/).waitFor();
    await expectAccessible(page);
    await page.waitForTimeout(2500);
    const after = await secondsOf(async () => {
      await button(page, 'Resume').click();
      await recorded(page, 2);
      await button(page, 'Finish and send').click();
    });
    await tray(page).getByText('Sent', { exact: true }).waitFor();
    const [recording] = await sent(client);
    expect(recording?.duration_seconds).toBeGreaterThan(1.5);
    expect(recording?.duration_seconds).toBeLessThan(before + after);
  });

  it('discards a short recording at once, and a longer one after a question', async () => {
    const client = await service.account();
    const page = await browser.page({ signedInAs: client, route: '/record', width: 360, theme: 'dark' });
    await start(page);
    await button(page, 'Discard').click();
    await button(page, 'Record').waitFor();
    await start(page);
    await recorded(page, 1);
    await passTime(page, 5);
    await recorded(page, 6);
    await screenshot(page, 'record-360-dark', { fullPage: false });
    await button(page, 'Discard').click();
    const question = page.getByRole('dialog', { name: 'Discard this recording?' });
    await expectAccessible(page);
    await screenshot(page, 'record-discard-360-dark', { fullPage: false });
    await question.getByRole('button', { name: 'Cancel' }).click();
    await button(page, 'Discard').click();
    await question.getByRole('button', { name: 'Discard' }).click();
    await button(page, 'Record').waitFor();
    expect(await page.evaluate(() => indexedDB.databases().then(({ length }) => length))).toBe(1);
    expect(await storedItems(page)).toBe(0);
    expect(await sent(client)).toEqual([]);
  });

  it('keeps a recording that a reload ended, and plays, downloads and sends it', async () => {
    const client = await service.account();
    const page = await browser.page({ signedInAs: client, route: '/record' });
    let asked = 0;
    page.on('dialog', (dialog) => {
      asked += 1;
      void dialog.accept();
    });
    await start(page);
    // The last parts may not have been written.
    await recorded(page, 3);
    await page.reload();
    expect(asked).toBe(1);
    await signInByLink(page, client);
    await tray(page).getByText('Not sent: the page was closed while recording.').waitFor();
    await page.evaluate(() => (location.hash = '/record'));
    await page.getByText(/A recording of 0:(?!00)\d\d from today \d\d:\d\d was not sent./).waitFor();
    await page.getByRole('button', { name: /^Play/ }).click();
    await page
      .getByLabel(/^Play Voice note/)
      .last()
      .waitFor();
    await expectAccessible(page);
    await screenshot(page, 'record-unsent-1280-light');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: /^Download/ }).click();
    expect((await download).suggestedFilename()).toMatch(/^Voice note .*\.webm$/);
    await page.getByRole('button', { name: /^Send/ }).click();
    await tray(page).getByText('Sent', { exact: true }).waitFor();
    const [recording] = await sent(client);
    expect(recording?.duration_seconds).toBeGreaterThanOrEqual(1.5);
    expect(await storedItems(page)).toBe(0);
    await page.reload();
    expect(asked).toBe(1);
  });

  it('records on while another page is shown, and keeps what was said at a sign-out', async () => {
    const client = await service.account();
    const page = await browser.page({ signedInAs: client, route: '/record', theme: 'dark' });
    await start(page);
    await page.evaluate(() => (location.hash = '/'));
    await tray(page).getByText('Recording…', { exact: true }).waitFor();
    await tray(page).getByRole('link', { name: /^Show/ }).click();
    await recorded(page, 2);
    await page.evaluate(() => (location.hash = '/'));
    await page.getByRole('button', { name: 'Sign out' }).first().click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await storedItems(page)).toBe(1);
    await signInByLink(page, client);
    await tray(page).getByRole('button', { name: /^Send/ }).click();
    await tray(page).getByText('Sent', { exact: true }).waitFor();
    const [recording] = await sent(client);
    expect(recording?.duration_seconds).toBeGreaterThanOrEqual(1.5);
  });

  it('is told to other tabs in its first second', async () => {
    const client = await service.account();
    const first = await browser.page({ signedInAs: client, route: '/record' });
    const second = await first.context().newPage();
    await signInByLink(second, client);
    await second.getByRole('heading', { name: 'Recordings' }).waitFor();
    // No part of the sound is there before a second has passed.
    await first.evaluate(() => {
      const begin = MediaRecorder.prototype.start;
      MediaRecorder.prototype.start = function begun() {
        begin.call(this, 5000);
      };
    });
    await start(first);
    await tray(second).getByText('Recording…', { exact: true }).waitFor({ timeout: 2000 });
    await button(first, 'Discard').click();
    await tray(second).waitFor({ state: 'detached' });
  });

  it('says what is wrong with a tag before anything is sent', async () => {
    const page = await browser.page({ signedInAs: await service.account(), route: '/record', theme: 'dark' });
    await button(page, 'Add a tag').click();
    await page.getByLabel('Name of tag 1').fill('two words');
    await start(page);
    await recorded(page, 1);
    await button(page, 'Finish and send').click();
    await page.getByText('Fix the tag, then send the recording.').waitFor();
    await button(page, 'Resume').waitFor();
    await expectAccessible(page);
    await screenshot(page, 'record-tag-1280-dark');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Name of tag 1');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('words');
    await button(page, 'Finish and send').click();
    await tray(page).getByText('Sent', { exact: true }).waitFor();
  });

  it('is used with the keyboard alone, without motion', async () => {
    const options = { route: '/record', width: 360, reducedMotion: true } as const;
    const page = await browser.page({ signedInAs: await service.account(), ...options });
    await button(page, 'Record').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('r');
    await recorded(page, 1);
    await screenshot(page, 'record-360-light', { fullPage: false });
    await page.keyboard.press('r');
    await page.getByText('Paused', { exact: true }).waitFor();
    await button(page, 'Finish and send').focus();
    await page.keyboard.press('Enter');
    await tray(page)
      .getByText(/1 sent/)
      .waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Record');
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  });

  it('keeps what is said in memory when the storage is full, and sends all of it', async () => {
    const client = await service.account();
    const page = await browser.page({ signedInAs: client, route: '/record' });
    await start(page);
    await recorded(page, 1);
    await page.evaluate(() => {
      IDBObjectStore.prototype.put = () => {
        throw new DOMException('full', 'QuotaExceededError');
      };
    });
    await page.getByText('Browser storage is full.').waitFor();
    await recorded(page, 3);
    await expectAccessible(page);
    await button(page, 'Finish and send').click();
    await tray(page).getByText('Sent', { exact: true }).waitFor();
    const [recording] = await sent(client);
    expect(recording?.duration_seconds).toBeGreaterThan(2.7);
    expect(await storedItems(page)).toBe(0);
  });

  it('says that nothing was recorded when the microphone gave nothing', async () => {
    const client = await service.account();
    const page = await browser.page({ signedInAs: client, route: '/record' });
    await page.evaluate(() => Object.defineProperty(BlobEvent.prototype, 'data', { get: () => new Blob() }));
    await start(page);
    await button(page, 'Finish and send').click();
    await page.getByText('Nothing was recorded: the microphone sent no sound.').waitFor();
    await button(page, 'Record').waitFor();
    expect(await storedItems(page)).toBe(0);
    expect(await sent(client)).toEqual([]);
  });

  it('sends a recording that has reached two hours, and says so', async () => {
    const client = await service.account();
    const page = await browser.page({ signedInAs: client, route: '/record' });
    await start(page);
    await recorded(page, 1);
    await passTime(page, 7200);
    await page.getByText('The recording has reached the limit of two hours.').waitFor();
    await tray(page).getByText('Sent', { exact: true }).waitFor();
    expect(await sent(client)).toHaveLength(1);
  });

  it('says why a page without https cannot record', async () => {
    const page = await browser.page({ signedInAs: await service.account() });
    await page.evaluate(() => Object.defineProperty(window, 'isSecureContext', { value: false }));
    await page.evaluate(() => (location.hash = '/record'));
    await page.getByText('This page cannot use the microphone.').waitFor();
    await expectAccessible(page);
  });

  it('tells of a blocked microphone and of none, and how to help it', async () => {
    const page = await browser.page({ signedInAs: await service.account(), route: '/record' });
    await button(page, 'Record').waitFor();
    await page.context().clearPermissions();
    await page.context().grantPermissions([]);
    await page.evaluate(() => {
      navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', 'NotFoundError'));
    });
    await button(page, 'Record').click();
    await page.getByText('No microphone found.').waitFor();
    await page.evaluate(() => {
      navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', 'NotAllowedError'));
    });
    await button(page, 'Record').click();
    await page.getByText('The microphone is blocked for this page.').waitFor();
    await expectAccessible(page);
    await screenshot(page, 'record-blocked-1280-light');
  });

  /** How many recordings and files are in the database of the browser. */
  async function storedItems(page: Page): Promise<number> {
    return await page.evaluate(
      () =>
        new Promise<number>((resolve, reject) => {
          const opening = indexedDB.open('voice-notes');
          opening.addEventListener('error', reject);
          opening.addEventListener('success', () => {
            const count = opening.result.transaction('items').objectStore('items').count();
            count.addEventListener('success', () => resolve(count.result));
          });
        }),
    );
  }
});
