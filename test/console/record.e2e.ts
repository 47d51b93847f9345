import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { SPEECH } from '../../src/testing/speech.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { useService } from '../../src/testing/test-service.js';
import { go, hearUnprocessed, signInByLink, storedItems, useConsole } from '../support/browser/browser.js';
import { expectGood } from '../support/browser/views.js';

async function secondsOf(work: () => Promise<void>): Promise<number> {
  const begin = performance.now();
  await work();
  return (performance.now() - begin) / 1000;
}

describe('recording in the console', () => {
  const tested = useConsole({ ROLES: 'api' }, { microphone: join(SPEECH, 'go-forward-ten-meters.wav') });
  let client: ApiClient;

  beforeEach(() => {
    client = tested.account;
  });

  const exactly = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const tray = (page: Page) => page.getByRole('region', { name: 'Uploads' });
  const recorded = (page: Page, seconds: number) =>
    eventually(async () => {
      const [, minutes, rest] = /(\d+):(\d\d)/.exec((await page.getByRole('timer').textContent()) ?? '') ?? [];
      return Number(minutes) * 60 + Number(rest) >= seconds;
    });
  const start = async (page: Page) => {
    await exactly(page, 'Record').click();
    await exactly(page, 'Pause').waitFor();
  };
  /** As if this time had gone by at once. */
  const passTime = (page: Page, seconds: number) =>
    page.evaluate((ms) => {
      const now = performance.now.bind(performance);
      performance.now = () => now() + ms;
    }, seconds * 1000);
  const sent = async (by = client) => {
    const { body } = await by.get('/v1/recordings').expect(200);
    return (body as { recordings: { id: string; duration_seconds: number; custom_tags: object }[] }).recordings;
  };

  describe('with a service that transcribes', () => {
    const transcribing = useService();

    it('brings what was said into the microphone to its words on the page', async () => {
      const speaker = await transcribing.account();
      const page = await tested.open({ signedInAs: speaker, route: '/record', arrange: hearUnprocessed });
      await page.getByLabel('Title').fill('Steps 1/2 "go" v2.5');
      await page.getByLabel('Spoken language').selectOption('english');
      await page.getByLabel('Second language').selectOption('german');
      await page.getByLabel('Speakers').selectOption('2');
      await exactly(page, 'Add a tag').click();
      await page.getByLabel('Name of tag 1').fill('project');
      await page.getByLabel('Value of tag 1').fill('atlas');
      await start(page);
      await recorded(page, 5);
      await expectGood(page, 'record-1280-light');
      await exactly(page, 'Finish and send').click();
      await tray(page).getByRole('link', { name: 'Open: Steps 1/2 "go" v2.5', exact: true }).click();
      await page.getByRole('heading', { name: 'Steps 1/2 "go" v2.5', exact: true }).waitFor();

      const [recording] = await sent(speaker);
      expect(recording).toMatchObject({ custom_tags: { project: 'atlas' }, upload_source: 'console' });
      const asked = 'SELECT speakers FROM recordings WHERE id = $1';
      expect(await transcribing.database.query(asked, [recording?.id])).toEqual([{ speakers: 2 }]);
      const { features } = await speaker.finished(recording?.id as string);
      expect(features).toMatchObject({ languages: [{ language: 'english' }] });
      const { body } = await speaker.get(`/v1/recordings/${recording?.id}/transcription`).expect(200);
      expect((body as { text: string }).text).toContain('go forward ten meters');
      await page
        .getByText(/go forward/)
        .first()
        .waitFor();
    });
  });

  it('leaves out what is said during a pause', async () => {
    const page = await tested.open({ route: '/record' });
    const before = await secondsOf(async () => {
      await start(page);
      await recorded(page, 1);
      await exactly(page, 'Pause').click();
      await page.getByText('Paused', { exact: true }).waitFor();
    });
    await page.getByLabel(/^Play Voice note/).waitFor();
    await expectGood(page, 'record-paused');
    await page.waitForTimeout(2500);
    const after = await secondsOf(async () => {
      await exactly(page, 'Resume').click();
      await recorded(page, 2);
      await exactly(page, 'Finish and send').click();
    });
    await tray(page).getByText('Sent', { exact: true }).waitFor();
    const [recording] = await sent();
    expect(recording?.duration_seconds).toBeGreaterThan(1.5);
    expect(recording?.duration_seconds).toBeLessThan(before + after);
  });

  it('discards a short recording at once, and a longer one after a question', async () => {
    const page = await tested.open({ route: '/record', width: 360, theme: 'dark' });
    await start(page);
    await exactly(page, 'Discard').click();
    await exactly(page, 'Record').waitFor();
    await start(page);
    await recorded(page, 1);
    await passTime(page, 5);
    await recorded(page, 6);
    await exactly(page, 'Discard').click();
    const question = page.getByRole('dialog', { name: 'Discard this recording?' });
    await expectGood(page, 'record-discard-360-dark', { fullPage: false });
    await question.getByRole('button', { name: 'Cancel' }).click();
    await exactly(page, 'Discard').click();
    await question.getByRole('button', { name: 'Discard' }).click();
    await exactly(page, 'Record').waitFor();
    expect(await page.evaluate(() => indexedDB.databases().then(({ length }) => length))).toBe(1);
    expect(await storedItems(page)).toBe(0);
    expect(await sent()).toEqual([]);
  });

  it('keeps a recording that a reload ended, and plays, downloads and sends it', async () => {
    const page = await tested.open({ route: '/record' });
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
    await go(page, '/record');
    await page.getByText(/A recording of 0:(?!00)\d\d from today \d\d:\d\d was not sent./).waitFor();
    await page.getByRole('button', { name: /^Play/ }).click();
    await page
      .getByLabel(/^Play Voice note/)
      .last()
      .waitFor();
    await expectGood(page, 'record-unsent-1280-light');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: /^Download/ }).click();
    expect((await download).suggestedFilename()).toMatch(/^Voice note .*\.webm$/);
    await page.getByRole('button', { name: /^Send/ }).click();
    await tray(page).getByText('Sent', { exact: true }).waitFor();
    const [recording] = await sent();
    expect(recording?.duration_seconds).toBeGreaterThanOrEqual(1.5);
    expect(await storedItems(page)).toBe(0);
    await page.reload();
    expect(asked).toBe(1);
  });

  it('records on while another page is shown, and keeps what was said at a sign-out', async () => {
    const page = await tested.open({ route: '/record', theme: 'dark' });
    await start(page);
    await go(page, '/');
    const bar = page.getByRole('region', { name: 'Recorder' });
    await bar.getByText('Recording', { exact: true }).waitFor();
    expect(await page.title()).toBe('● Recordings · Voice notes');
    expect(await tray(page).count()).toBe(0);
    await expectGood(page, 'record-bar-1280-dark');
    await bar.getByRole('button', { name: 'Pause' }).click();
    await bar.getByText('Paused', { exact: true }).waitFor();
    await bar.getByRole('button', { name: 'Resume' }).click();
    await bar.getByRole('link').click();
    await page.getByRole('heading', { name: 'Record', level: 1 }).waitFor();
    await recorded(page, 2);
    await go(page, '/');
    await page.getByRole('button', { name: 'Sign out' }).first().click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await storedItems(page)).toBe(1);
    await signInByLink(page, client);
    await tray(page).getByRole('button', { name: /^Send/ }).click();
    await tray(page).getByText('Sent', { exact: true }).waitFor();
    const [recording] = await sent();
    expect(recording?.duration_seconds).toBeGreaterThanOrEqual(1.5);
  });

  it('is finished and sent from another page', async () => {
    const page = await tested.open({ route: '/record', width: 390, height: 844 });
    await start(page);
    await go(page, '/usage');
    await recorded(page, 2);
    await expectGood(page, 'record-bar-390-light');
    await page.getByRole('button', { name: 'Finish and send' }).click();
    await eventually(async () => (await sent()).length === 1);
    await page.getByRole('region', { name: 'Recorder' }).waitFor({ state: 'detached' });
    expect(await page.title()).not.toContain('●');
  });

  it('is told to other tabs in its first second', async () => {
    const first = await tested.open({ route: '/record' });
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
    await exactly(first, 'Discard').click();
    await tray(second).waitFor({ state: 'detached' });
  });

  it('says what is wrong with a tag before anything is sent', async () => {
    const page = await tested.open({ route: '/record', theme: 'dark' });
    await exactly(page, 'Add a tag').click();
    await page.getByLabel('Name of tag 1').fill('two words');
    await start(page);
    await recorded(page, 1);
    await exactly(page, 'Finish and send').click();
    await page.getByText('Fix the tag, then send the recording.').waitFor();
    await exactly(page, 'Resume').waitFor();
    await expectGood(page, 'record-tag-1280-dark');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Name of tag 1');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('words');
    await exactly(page, 'Finish and send').click();
    await tray(page).getByText('Sent', { exact: true }).waitFor();
  });

  it('is used with the keyboard alone, without motion', async () => {
    const options = { route: '/record', width: 360, reducedMotion: true } as const;
    const page = await tested.open(options);
    await exactly(page, 'Record').waitFor();
    await expectGood(page, 'record-360-light', { fullPage: false });
    await page.keyboard.press('r');
    await recorded(page, 1);
    await page.keyboard.press('r');
    await page.getByText('Paused', { exact: true }).waitFor();
    await exactly(page, 'Finish and send').focus();
    await page.keyboard.press('Enter');
    await tray(page)
      .getByText(/1 sent/)
      .waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Record');
  });

  it('keeps what is said in memory when the storage is full, and sends all of it', async () => {
    const page = await tested.open({ route: '/record' });
    await start(page);
    await recorded(page, 1);
    await page.evaluate(() => {
      IDBObjectStore.prototype.put = () => {
        throw new DOMException('full', 'QuotaExceededError');
      };
    });
    await page.getByText('Browser storage is full.').waitFor();
    await recorded(page, 3);
    await expectGood(page, 'record-storage-full');
    await exactly(page, 'Finish and send').click();
    await tray(page).getByText('Sent', { exact: true }).waitFor();
    const [recording] = await sent();
    expect(recording?.duration_seconds).toBeGreaterThan(2.7);
    expect(await storedItems(page)).toBe(0);
  });

  it('says that nothing was recorded when the microphone gave nothing', async () => {
    const page = await tested.open({ route: '/record' });
    await page.evaluate(() => Object.defineProperty(BlobEvent.prototype, 'data', { get: () => new Blob() }));
    await start(page);
    await exactly(page, 'Finish and send').click();
    await page.getByText('Nothing was recorded: the microphone sent no sound.').waitFor();
    await exactly(page, 'Record').waitFor();
    expect(await storedItems(page)).toBe(0);
    expect(await sent()).toEqual([]);
  });

  it('sends a recording that has reached two hours, and says so', async () => {
    const page = await tested.open({ route: '/record' });
    await start(page);
    await recorded(page, 1);
    await passTime(page, 7200);
    await page.getByText('The recording has reached the limit of two hours.').waitFor();
    await tray(page).getByText('Sent', { exact: true }).waitFor();
    expect(await sent()).toHaveLength(1);
  });

  it('tells why it cannot record: a blocked microphone, none, and a page without https', async () => {
    const page = await tested.open({ route: '/record' });
    await exactly(page, 'Record').waitFor();
    await page.context().clearPermissions();
    for (const [error, message] of [
      ['NotFoundError', 'No microphone found.'],
      ['NotAllowedError', 'The microphone is blocked for this page.'],
    ] as const) {
      await page.evaluate((name) => {
        navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', name));
      }, error);
      await exactly(page, 'Record').click();
      await page.getByText(message).waitFor();
    }
    await expectGood(page, 'record-blocked-1280-light');
    await go(page, '/');
    await page.evaluate(() => Object.defineProperty(window, 'isSecureContext', { value: false }));
    await go(page, '/record');
    await page.getByText('This page cannot use the microphone.').waitFor();
    await expectGood(page, 'record-insecure-1280-light');
  });
});
