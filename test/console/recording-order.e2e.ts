import type { Page } from 'playwright-core';
import type { ApiClient } from '../../src/testing/api-client.js';
import { button, hold, useConsole } from '../support/browser/browser.js';
import { expectGoodEverywhere, expectGoodState, tabTo } from '../support/browser/views.js';
import { seedNotes } from '../support/state/many-notes.js';

/** More than a page has. */
const NOTES = 60;

describe('the order of the recordings in the console (D106)', () => {
  const tested = useConsole();
  let account: ApiClient;

  /** The last is the newest. Each has another length, from 1:01 to 2:00. */
  beforeEach(async () => {
    ({ account } = tested);
    const notes = Array.from({ length: NOTES }, (_, i) => ({
      text: i % 2 === 0 ? 'call the gate' : 'a letter',
      durationMs: (61 + ((i * 37 + 40) % NOTES)) * 1000,
    }));
    await seedNotes(tested.service, account, notes);
  });

  const open = (route = '/', options: Parameters<typeof tested.open>[0] = {}) => tested.open({ route, ...options });
  const column = (page: Page, title: string) => page.getByRole('button', { name: new RegExp(`^${title}`) });
  const shown = (page: Page) => page.locator('.row-duration > [aria-hidden]').allInnerTexts();
  const inOrder = async (page: Page, compare: (one: number, other: number) => number): Promise<boolean> => {
    const seconds = (await shown(page)).map((text) => Number(text.split(':')[0]) * 60 + Number(text.split(':')[1]));
    return seconds.every((one, i) => i === 0 || compare(seconds[i - 1] as number, one) < 0);
  };
  const longest = (one: number, other: number) => other - one;
  const shortest = (one: number, other: number) => one - other;
  const firstIs = (page: Page, length: string) =>
    page
      .locator('.recording-row')
      .first()
      .locator('.row-duration > [aria-hidden]')
      .filter({ hasText: length })
      .waitFor();

  it('is chosen at the columns, kept in the address, and holds on all pages', async () => {
    const page = await open();
    await column(page, 'Length').click();
    await page.waitForURL(/order=longest/);
    await firstIs(page, '2:00');
    expect(await inOrder(page, longest)).toBe(true);
    expect(await column(page, 'Length').getAttribute('aria-pressed')).toBe('true');
    expect(await column(page, 'Date').getAttribute('aria-pressed')).toBe('false');
    await button(page, 'Next page').click();
    await page.getByText('51–60 of 60').waitFor();
    await firstIs(page, '1:10');
    expect(await inOrder(page, longest)).toBe(true);
    await expectGoodEverywhere(page, 'recordings-longest');

    // By the keyboard, and from the first page on.
    await column(page, 'Length').focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/order=shortest/);
    await firstIs(page, '1:01');
    expect(await inOrder(page, shortest)).toBe(true);
    await tabTo(page, 'button', 'Date');
    await page.keyboard.press('Space');
    await page.waitForURL((url) => !url.hash.includes('order'));
    await page.locator('.row-title').first().filter({ hasText: 'note-60.webm' }).waitFor();
    await column(page, 'Date').click();
    await page.waitForURL(/order=oldest/);
    await page.locator('.row-title').first().filter({ hasText: 'note-1.webm' }).waitFor();
    await page.goBack();
    await page.locator('.row-title').first().filter({ hasText: 'note-60.webm' }).waitFor();

    const again = await open('/?order=shortest&page=2');
    await firstIs(again, '1:51');
    await button(again, 'Previous page').click();
    await firstIs(again, '1:01');
  });

  it('goes with a search and with the selection of all; the old results stay until the next are there', async () => {
    const page = await open('/?q=gate');
    await page.getByText('30 results').first().waitFor();
    const release = await hold(page, '**/v1/recordings?*');
    await column(page, 'Length').click();
    await page.locator('[aria-busy="true"]').waitFor();
    expect(await shown(page)).toHaveLength(30);
    release();
    await page.locator('[aria-busy="false"]').waitFor();
    expect(await inOrder(page, longest)).toBe(true);
    await button(page, 'Best match').click();
    await page.waitForURL(/order=rank/);

    const all = await open('/?order=longest');
    await firstIs(all, '2:00');
    await all.getByLabel('Select all on this page').check();
    await button(all, 'Select all 60 recordings').click();
    await all.getByText('60 selected, also on other pages.').waitFor();
  });

  it('is a choice where there are no columns, also in German', async () => {
    const inGerman = (opened: Page) => opened.addInitScript(() => localStorage.setItem('voice-notes.language', 'de'));
    const page = await open('/', { arrange: inGerman });
    await page.setViewportSize({ width: 360, height: 740 });
    await page.getByText('60 Aufnahmen').first().waitFor();
    await page.getByLabel('Sortieren').selectOption({ label: 'Kürzeste zuerst' });
    await page.waitForURL(/order=shortest/);
    await firstIs(page, '1:01');
    expect(await page.getByRole('button', { name: /^Länge/ }).count()).toBe(0);
    await button(page, 'Nächste Seite').click();
    await firstIs(page, '1:51');
    await expectGoodState(page, 'recordings-shortest-german');
  });
});
