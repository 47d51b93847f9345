import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { eventually } from '../../src/testing/eventually.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { button, go, heading, useConsole } from '../support/browser/browser.js';
import { expectGood, expectGoodEverywhere, expectGoodState, tabTo } from '../support/browser/views.js';
import { linkFor } from '../support/http/session-client.js';
import { exportAccount, type ReadyExport } from '../support/state/account-export.js';

const run = promisify(execFile);

describe('the settings page of the console', () => {
  const tested = useConsole();
  const read = async (path: string) => (await tested.account.get(`/v1/account/${path}`).expect(200)).body as object;

  it('sets vocabulary, speakers, retention and the audit log, each by itself', async () => {
    const page = await tested.open({ route: '/settings' });
    await heading(page, 'Vocabulary').waitFor();
    await expectGoodEverywhere(page, 'settings');
    await page.getByLabel('Names and words to expect').fill('Grafana\n\n  Zoë ');
    await button(page, 'Save: Vocabulary').click();
    await page.getByText('Vocabulary saved.').waitFor();
    await page.getByLabel('How many to tell apart').selectOption('auto');
    await button(page, 'Save: Speakers').click();
    await page.getByText('Speakers saved.').waitFor();
    await page.getByLabel('Delete the audio once it is transcribed').check();
    await page.getByLabel('Days until the whole recording is deleted').fill('365');
    await button(page, 'Save: Retention').click();
    await page.getByText('Retention saved.').waitFor();
    await page.getByLabel('Also who reads, plays and exports').check();
    await page.getByLabel('Days until entries are removed').fill('90');
    await button(page, 'Save: Audit log').click();
    await page.getByText('Audit log saved.').waitFor();

    expect(await read('vocabulary')).toEqual({ vocabulary: ['Grafana', 'Zoë'] });
    expect(await read('speakers')).toMatchObject({ speakers: 'auto' });
    const kept = { retain_audio_days: 365, retain_text_days: 365, delete_audio_after: 'transcribed' };
    expect(await read('retention')).toMatchObject(kept);
    expect(await read('audit-log/settings')).toMatchObject({ records_reads: true, retain_days: 90 });
    await page.evaluate(() => (location.hash = '/usage'));
    await heading(page, 'Usage').waitFor();
    await page.goBack();
    await eventually(() =>
      page
        .getByLabel('Days until entries are removed')
        .inputValue()
        .then((days) => days === '90'),
    );
    expect(await page.getByLabel('Names and words to expect').inputValue()).toBe('Grafana\nZoë');
  });

  it('says at the field what the service refuses, and offers nothing to who may not change it', async () => {
    const page = await tested.open({ route: '/settings' });
    await page.getByLabel('Days until the audio is deleted').fill('soon');
    await button(page, 'Save: Retention').click();
    await page.getByText(/^Retain_audio_days must be an integer/).waitFor();
    await expectGoodState(page, 'settings-refused');
    const reader = await tested.service.key(tested.account, ['account:read', 'recordings:read']);
    const other = await tested.open({ signedInAs: reader, route: '/settings' });
    await other
      .getByText(/cannot change settings/)
      .first()
      .waitFor();
    expect(await button(other, /^Save/).count()).toBe(0);
    expect(await other.getByLabel('How many to tell apart').isDisabled()).toBe(true);
  });

  /** Of the tar file that a click on Download saves. */
  async function filesOfDownload(page: Page): Promise<{ name: string; files: string[] }> {
    const coming = page.waitForEvent('download');
    await page.getByText('Download', { exact: true }).click();
    const download = await coming;
    const { stdout } = await run('tar', ['-tf', await download.path()]);
    return { name: download.suggestedFilename(), files: stdout.trimEnd().split('\n') };
  }
  const region = (page: Page) => page.getByRole('region', { name: 'Export' });

  it('prepares an export of the account, and downloads it with a key and in a session', async () => {
    const { accountId } = tested.account;
    const { body: recording } = await tested.account.upload(silenceWav(1)).expect(201);
    const page = await tested.open({ route: '/settings' });
    await tabTo(page, 'button', 'Prepare an export');
    await page.keyboard.press('Enter');
    await button(page, 'Prepare another').and(page.locator(':focus')).waitFor();
    await region(page).getByRole('status').getByText('Ready').waitFor();
    const find = async () => (await tested.account.get('/v1/account/export').expect(200)).body as ReadyExport;
    const { id, size_bytes } = await find();
    expect(await region(page).innerText()).toContain(`${(size_bytes / 1000).toFixed(1)} kB`);
    await expectGoodEverywhere(page, 'export-ready');
    const archive = await filesOfDownload(page);
    expect(archive.name).toBe(`account-${accountId}.tar`);
    expect(archive.files).toContain(`recordings/${recording.id as string}/audio.wav`);

    const token = await linkFor(tested.service, accountId, { email: 'olga@example.com' });
    const hers = await tested.open({ signedInAs: null });
    await go(hers, `#link=${token}`);
    await button(hers, 'Sign in').click();
    await button(hers, 'Not now').click();
    await go(hers, '/settings');
    expect(await filesOfDownload(hers)).toEqual(archive);
    await button(hers, 'Prepare another').click();
    await eventually(async () => (await find()).id !== id);
  });

  it('shows an export that is prepared or has failed, and offers none to who may not have it', async () => {
    const set = (columns: string) =>
      tested.service.database.query(`UPDATE account_exports SET ${columns} WHERE account_id = $1`, [
        tested.account.accountId,
      ]);
    await exportAccount(tested.account);
    await set(`status = 'preparing', size_bytes = NULL, lease_until = now() + interval '1 hour'`);
    const page = await tested.open({ route: '/settings' });
    await region(page).getByRole('status').getByText('Preparing').waitFor();
    await page.emulateMedia({ media: 'print' });
    await expectGood(page, 'export-preparing-print');
    await page.emulateMedia({ media: 'screen' });
    expect(await button(page, 'Preparing…').isDisabled()).toBe(true);
    await set(`lease_until = now()`);
    await region(page).getByText('This export failed.').waitFor();
    await expectGoodState(page, 'export-failed');
    await button(page, 'Prepare an export').click();
    await region(page).getByRole('status').getByText('Ready').waitFor();
    await set('expires_at = now()');
    await page.getByText('Download', { exact: true }).click();
    await page.getByText('The download failed.').waitFor();

    const reader = await tested.service.key(tested.account, ['account:read', 'account:write', 'recordings:read']);
    const other = await tested.open({ signedInAs: reader, route: '/settings' });
    await other.getByText('This key cannot export the account. It needs the scope webhooks:read.').waitFor();
    expect(await button(other, /^Prepar/).count()).toBe(0);
  });
});
