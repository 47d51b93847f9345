import type { Page } from 'playwright-core';
import { transcribe, upload } from '../support/state/recording-states.js';
import { withoutTokens } from '../support/state/without-tokens.js';
import { go, useConsole } from '../support/browser/browser.js';
import { expectGoodEverywhere, tabTo } from '../support/browser/views.js';

const PAGES = ['Recordings', 'Record', 'Webhooks', 'Keys', 'Usage', 'Errors'];

describe('the frame of the console', () => {
  const tested = useConsole();
  const { service } = tested;

  const title = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true });
  const links = (page: Page) => page.getByRole('navigation', { name: 'Pages' });
  const focusedText = (page: Page) => page.evaluate(() => document.activeElement?.textContent);

  it('leads to each page, names it, and moves the focus to its heading', async () => {
    const page = await tested.open();
    await title(page, 'Recordings').waitFor();
    for (const name of [...PAGES.slice(1), 'Recordings']) {
      const link = links(page).getByRole('link', { name, exact: true });
      await link.click();
      await title(page, name).waitFor();
      expect(await link.getAttribute('aria-current')).toBe('page');
      await page.waitForFunction((text) => document.activeElement?.textContent === text, name);
      expect(await page.title()).toContain(name);
      if (name === 'Record') await expectGoodEverywhere(page, 'frame-record');
    }
    await page.goBack();
    await title(page, 'Errors').waitFor();
    await page.waitForFunction(() => document.activeElement?.textContent === 'Errors');
  });

  it('has a palette of pages, actions and recordings, by Ctrl K', async () => {
    const id = await upload(tested.account, { title: 'Budget of Zürich' });
    await transcribe(service, id);
    const page = await tested.open();
    await title(page, 'Recordings').waitFor();
    const palette = page.getByRole('dialog', { name: 'Go to' });
    const options = palette.getByRole('option');
    const field = palette.getByRole('combobox');
    const opener = links(page).getByRole('button', { name: 'Go to' });
    await opener.focus();
    await page.keyboard.press('Control+K');
    await palette.waitFor();
    await palette.getByRole('option', { name: 'Show keyboard shortcuts' }).waitFor();
    await expectGoodEverywhere(page, 'frame-palette');
    await page.keyboard.press('Control+K');
    await palette.waitFor({ state: 'detached' });
    expect(await focusedText(page)).toContain('Go to');

    await page.keyboard.press('Control+K');
    await field.waitFor();
    await page.keyboard.type('web');
    expect(await options.allTextContents()).toEqual(['Webhooks']);
    await page.keyboard.press('Enter');
    await title(page, 'Webhooks').waitFor();

    await page.keyboard.press('Control+K');
    await field.fill('zurich');
    await palette.getByRole('option', { name: 'Budget of Zürich' }).waitFor();
    await page.keyboard.press('Enter');
    await title(page, 'Budget of Zürich').waitFor();
    expect(page.url()).toContain(id);

    await opener.click();
    await field.fill('zzzz');
    await palette.getByText('Nothing has these words.').waitFor();
    await field.fill('shortcuts');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  });

  it('has a bar of tabs and a menu on a small screen', async () => {
    const page = await tested.open({ width: 360, height: 700 });
    await title(page, 'Recordings').waitFor();
    await page.getByRole('button', { name: 'More' }).click();
    const menu = page.getByRole('dialog');
    await menu.getByText(/of 1000/).waitFor();
    await menu.getByRole('link', { name: 'Keys' }).click();
    await title(page, 'Keys').waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('button', { name: 'More' }).click();
    await menu.getByRole('button', { name: 'Dark' }).click();
    expect(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)).toBe('dark');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'More' }).click();
    await menu.getByRole('button', { name: 'Sign out' }).click();
    await title(page, 'Sign in').waitFor();
  });

  it('remembers the colours, and follows the device unless one is chosen', async () => {
    const page = await tested.open();
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await ground();
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await ground();
    expect(dark).not.toBe(light);
    await page.getByRole('button', { name: 'Light' }).click();
    expect(await ground()).toBe(light);
    await page.reload();
    expect(await ground()).toBe(light);
  });

  it('can be used with the keyboard alone', async () => {
    const page = await tested.open();
    await title(page, 'Recordings').waitFor();
    await page.keyboard.press('Tab');
    expect(await focusedText(page)).toBe('Skip to content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
    await tabTo(page, 'link', 'Webhooks');
    await page.keyboard.press('Enter');
    await title(page, 'Webhooks').waitFor();
  });

  it('shows all keys by ?, and searches by / from every page, but not while somebody types', async () => {
    const page = await tested.open({ route: '/errors' });
    await title(page, 'Errors').waitFor();
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await help.getByText('Search the recordings').waitFor();
    await expectGoodEverywhere(page, 'keys-help');
    await page.keyboard.press('/');
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await title(page, 'Recordings').waitFor();
    const search = page.getByRole('searchbox');
    await page.waitForFunction(() => document.activeElement?.matches('input[type=search]'));
    await page.keyboard.type('a/b?');
    expect(await search.inputValue()).toBe('a/b?');
    expect(await help.count()).toBe(0);
  });

  it('says what is so at an address that it does not know, and leads back', async () => {
    const page = await tested.open({ route: '/recording/12' });
    await title(page, 'Page not found').waitFor();
    await expectGoodEverywhere(page, 'unknown');
    await page.getByRole('link', { name: 'All recordings' }).click();
    await title(page, 'Recordings').waitFor();
  });

  it('shows where it is with the colours that the system forces', async () => {
    const page = await tested.open({ route: '/usage' });
    await title(page, 'Usage').waitFor();
    await page.emulateMedia({ forcedColors: 'active' });
    const groundOf = (name: string) =>
      links(page)
        .getByRole('link', { name, exact: true })
        .evaluate((element) => getComputedStyle(element).backgroundColor);
    expect(await groundOf('Usage')).not.toBe(await groundOf('Keys'));
    const chosen = page
      .getByRole('button', { name: 'Recordings', exact: true })
      .or(page.locator('.segmented > :has(:checked)'));
    const ground = await chosen.first().evaluate((element) => getComputedStyle(element).backgroundColor);
    expect(ground).toBe(await groundOf('Usage'));
  });

  it('shows what is left of the limit, and how long it waits after too many requests', async () => {
    const free = await service.account('free');
    const page = await tested.open({ signedInAs: free });
    await page
      .getByText(/^\d+ of 10$/)
      .first()
      .waitFor();
    await withoutTokens(free, async () => {
      await go(page, '/?status=failed');
      await page
        .getByRole('status')
        .getByText(/continues automatically in \d+ s/)
        .waitFor();
    });
    await expectGoodEverywhere(page, 'throttled');
    await page.getByRole('heading', { name: 'No matching recordings' }).waitFor();
  });

  it('says discreetly when the connection for events is lost, and when it is back', async () => {
    const page = await tested.open({ expectedProblems: [/ERR_INTERNET_DISCONNECTED/] });
    const state = page.getByRole('status').filter({ visible: true });
    await state.getByText('Live', { exact: true }).waitFor();
    await page.context().setOffline(true);
    await state.getByText('Offline').waitFor();
    await go(page, '/?status=processing');
    await page.getByRole('heading', { name: 'No network' }).waitFor();
    await expectGoodEverywhere(page, 'offline');
    await page.context().setOffline(false);
    // Nobody presses anything.
    await page.getByRole('heading', { name: 'No matching recordings' }).waitFor();
    await state.getByText('Live', { exact: true }).waitFor();
  });
});
