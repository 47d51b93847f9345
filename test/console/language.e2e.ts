import type { Page } from 'playwright-core';
import { go, useConsole } from '../support/browser/browser.js';
import { expectGoodState } from '../support/browser/views.js';
import { transcribe, upload } from '../support/state/recording-states.js';

const { GERMAN } = jest.requireActual<{ GERMAN: Record<string, string> }>(
  '../../console/src/language/german/catalogue.js',
);

const PAGES: Record<string, string> = {
  '/': 'Aufnahmen',
  '/record': 'Aufnehmen',
  '/webhooks': 'Webhooks',
  '/keys': 'Schlüssel',
  '/usage': 'Nutzung',
  '/errors': 'Fehler',
  '/members': 'Mitglieder',
  '/settings': 'Einstellungen',
};

describe('the language of the console', () => {
  const tested = useConsole();
  const title = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true });
  const languageOf = (page: Page) => page.evaluate(() => document.documentElement.lang);

  it('is that of the browser, on every page, without an English text', async () => {
    const id = await upload(tested.account, { title: 'Budget' });
    await transcribe(tested.service, id);
    const page = await tested.open({ locale: 'de-AT' });
    for (const [route, name] of Object.entries({ ...PAGES, [`/recordings/${id}`]: 'Budget' })) {
      await go(page, route);
      await title(page, name).waitFor();
      await expectGoodState(page, `german${route.replace(id, 'note').replaceAll('/', '-')}`);
      expect({ route, english: await englishTexts(page) }).toEqual({ route, english: [] });
    }
    expect(await languageOf(page)).toBe('de');
  });

  it('is chosen before the sign-in and after it, keeps what was typed, and stays', async () => {
    const page = await tested.open({ signedInAs: null });
    await title(page, 'Sign in').waitFor();
    await page.locator('#email').fill('ada@example.com');
    await page.getByRole('button', { name: 'Deutsch' }).click();
    await title(page, 'Anmelden').waitFor();
    expect(await page.title()).toContain('Anmelden');
    expect(await page.locator('#email').inputValue()).toBe('ada@example.com');
    expect(await englishTexts(page)).toEqual([]);
    await expectGoodState(page, 'german-sign-in');
    await page.reload();
    await title(page, 'Anmelden').waitFor();
    await page.getByRole('button', { name: 'English' }).click();
    await title(page, 'Sign in').waitFor();
    expect(await languageOf(page)).toBe('en');
  });

  it('stays English where the catalogue does not come', async () => {
    const page = await tested.open({
      locale: 'de',
      signedInAs: null,
      arrange: (opened) => opened.route('**/assets/catalogue-*.js', (route) => route.abort()),
      expectedProblems: [/catalogue|texts could not be loaded/],
    });
    await title(page, 'Sign in').waitFor();
    expect(await languageOf(page)).toBe('en');
  });
});

/** What is read or heard on the page, and stands in the catalogue with another German text. `dir` is on what people wrote. */
async function englishTexts(page: Page): Promise<string[]> {
  const shown = await page.evaluate(() => {
    const attributes = ['aria-label', 'title', 'placeholder'];
    const elements = [...document.body.querySelectorAll('*')].filter((element) => !element.closest('[dir="auto"]'));
    const named = elements.flatMap((element) => attributes.map((name) => element.getAttribute(name) ?? ''));
    const texts = elements.flatMap(({ childNodes }) => [...childNodes].map((node) => (node as Text).data ?? ''));
    return [...new Set([...named, ...texts].map((text) => text.trim()))];
  });
  const german = new Set(Object.values(GERMAN));
  return shown.filter((text) => text in GERMAN && !german.has(text));
}
