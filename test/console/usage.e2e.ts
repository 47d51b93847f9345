import type { ApiClient } from '../../src/testing/api-client.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { useConsole } from '../support/browser/browser.js';
import { expectGoodEverywhere, expectGoodState } from '../support/browser/views.js';

const MARKUP = '<b>ada</b> שלום';

describe('the usage page of the console', () => {
  const tested = useConsole();
  const { service } = tested;
  let account: ApiClient;

  beforeEach(async () => {
    account = await service.account('pro');
  });

  const open = (signedInAs = account) => tested.open({ signedInAs, route: '/usage' });

  /** Counters of the last 30 days, as the reconciler leaves them. */
  async function useFor30Days(): Promise<void> {
    await service.database.query(
      `INSERT INTO usage_counters (account_id, day, status, listed, accepted, duration_ms, bytes, queued_ms, transcribed, failed)
       SELECT $1, (now() AT TIME ZONE 'utc')::date - n, 'transcribed', 0, 12 + (n * 7) % 23, 900000 + (n * 7919) % 1800000, 4000000, 0,
         11 + (n * 7) % 23, CASE WHEN n % 5 = 0 THEN 2 ELSE 0 END
       FROM generate_series(0, 29) AS n`,
      [account.accountId],
    );
  }

  it('shows the last 30 days as a chart and as a table, months, quotas and the limit', async () => {
    await useFor30Days();
    const page = await open();
    await page.getByRole('img', { name: /^Chart by day\. Total: \d+ recordings, 12 failed/ }).waitFor();
    expect(await page.locator('.usage-chart canvas').count()).toBe(1);
    await page.getByText('Stored audio').waitFor();
    await page.getByText(/of 100 left/).waitFor();
    await expectGoodEverywhere(page, 'usage');

    const chart = (await page.locator('.usage-chart').boundingBox()) as { x: number; y: number; width: number };
    await page.mouse.move(chart.x + chart.width - 30, chart.y + 60);
    await page.getByText(/^\d+ \w+ 2026: 12 recordings, 2 failed, 15 min of audio/).waitFor();
    await page.getByText('Audio', { exact: true }).first().click();
    await page.getByText('Show as a table').click();
    expect(await page.getByRole('region', { name: 'Usage by day' }).getByRole('row').count()).toBe(31);
    await expectGoodState(page, 'usage-table');
  });

  it('breaks the figures down by key and by end user', async () => {
    const { body: token } = await account.post('/v1/account/access-tokens', { identity: MARKUP });
    await account.upload(silenceWav(0.5)).expect(201);
    await account.upload(silenceWav(2)).set('Authorization', `Bearer ${token.token}`).expect(201);
    const page = await open();
    const part = (name: string) => page.getByRole('row').filter({ hasText: name });
    await part('Test key').waitFor();
    await page.getByText('By end user').click();
    await part(MARKUP).waitFor();
    await part('No end user').waitFor();
    await expectGoodState(page, 'usage-breakdown');
  });

  it('shows an account that has used nothing yet', async () => {
    const page = await open();
    await page.getByRole('img', { name: 'Chart by day. Total: 0 recordings, 0 failed, 0 s of audio.' }).waitFor();
    await page.getByRole('heading', { name: 'No recordings' }).waitFor();
    await expectGoodState(page, 'usage-empty');
  });
});
