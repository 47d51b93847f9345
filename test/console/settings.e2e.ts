import { eventually } from '../../src/testing/eventually.js';
import { button, heading, useConsole } from '../support/browser/browser.js';
import { expectGoodEverywhere, expectGoodState } from '../support/browser/views.js';

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
});
