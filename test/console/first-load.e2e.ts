import { go, useConsole } from '../support/browser/browser.js';
import { expectGood } from '../support/browser/views.js';

const LIMIT_BYTES = 100_000;

describe('the console in a browser, before anything is clicked', () => {
  const tested = useConsole();

  it('transfers at most 100 kB for the first load', async () => {
    const page = await tested.open();
    // Never idle: the page follows the events of the account.
    await page.waitForTimeout(1000);
    const sizes = await page.evaluate(() =>
      [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .filter(({ name }) => !name.includes('/v1/'))
        .map((entry) => ({ url: entry.name, bytes: (entry as PerformanceResourceTiming).transferSize })),
    );
    const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
    if (process.env.SHOW_SIZES) console.log(total, sizes);
    expect(total).toBeGreaterThan(5000);
    expect(total).toBeLessThanOrEqual(LIMIT_BYTES);
  });

  it('says when the code of a page does not come, and tries again without a reload', async () => {
    const page = await tested.open({ expectedProblems: [/assets\/usage-page/] });
    await page.route('**/assets/usage-page-*.js', (route) => route.abort());
    await go(page, '/usage');
    await page.getByRole('heading', { name: 'This page could not be loaded' }).waitFor();
    await expectGood(page, 'page-missing');
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
  });

  it('runs no inline script and applies no inline style that got into its page', async () => {
    const page = await tested.open({ signedInAs: null, expectedProblems: [/violat|nowhere\.png/] });
    const colour = () => page.evaluate(() => getComputedStyle(document.body).color);
    const before = await colour();
    const markup = `<script>window.injected = 'script';</script>
      <script nonce="" src="data:text/javascript,window.injected='data'"></script>
      <style>body { color: rgb(1, 2, 3) !important; }</style>
      <img src="/nowhere.png" onerror="window.injected = 'handler'">
      <b id="styled" style="color: rgb(1, 2, 3)">x</b>`;
    await page.route(`${tested.service.url}/`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: (await response.text()).replace('</body>', `${markup}</body>`) });
    });
    await page.reload();
    await page.getByRole('button', { name: /sign in/i }).waitFor();
    expect(await page.evaluate(() => (window as { injected?: string }).injected)).toBeUndefined();
    const styled = page.locator('#styled');
    expect(await styled.evaluate((element) => getComputedStyle(element).color)).not.toBe('rgb(1, 2, 3)');
    expect(await colour()).toBe(before);
  });

  it('makes no markup of text, but for the one style of the waveform', async () => {
    const page = await tested.open({ signedInAs: null, expectedProblems: [/violat|TrustedHTML/] });
    const outcome = (html: string) =>
      page.evaluate((text) => {
        const element = document.createElement('div');
        try {
          element.innerHTML = text;
          return element.innerHTML;
        } catch (error) {
          return (error as Error).name;
        }
      }, html);
    const nonce = await page.evaluate(() => document.querySelector<HTMLElement>('meta[property="csp-nonce"]')?.nonce);
    expect(nonce).toMatch(/^[A-Za-z0-9+/]{24}$/);
    expect(await outcome('<b>bold</b>')).toBe('TypeError');
    expect(await outcome('<style nonce="">b {}</style>')).toBe('TypeError');
    expect(await outcome(`<style nonce="${nonce}">b {}</style><i></i>`)).toContain('<i></i>');
    expect(await outcome('')).toBe('');
  });
});
