import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AxeResults, Result } from 'axe-core';
import type { Page } from 'playwright-core';

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Rules of WCAG 2.2 up to AA, best practices and those that axe-core is still trying out. AAA is left out: its contrast
 * of 7 : 1 would make muted text as dark as any other.
 */
const ALL_RULES = {
  type: 'tag',
  values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice', 'experimental'],
};
/** The rules of these tags that look at colours. */
const COLOUR_RULES = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };

type Rules = typeof ALL_RULES;
type View = readonly [width: number, colorScheme: 'light' | 'dark', rules: Rules];

/** Each layout and each theme as a whole. */
const STATE_VIEWS: readonly View[] = [
  [1280, 'light', ALL_RULES],
  [360, 'dark', ALL_RULES],
];
/** The other theme of a layout differs in nothing but its colours. */
const ALL_VIEWS: readonly View[] = [...STATE_VIEWS, [1280, 'dark', COLOUR_RULES], [360, 'light', COLOUR_RULES]];
/** Just where layouts change, and between: a width that fits no layout is most likely there. */
const NARROWEST_TO_WIDEST = [320, 360, 768, 896, 960, 1024, 1104, 1152, 1280, 1440, 1920];

/** Of the pictures, in pixels. */
const PICTURED_WIDTHS = [360, 768, 1024, 1440];
/** Of the text on A4 paper, at 96 pixels an inch. */
const PAPER_WIDTH = 718;

/** Looks at the page as it is now, wide and narrow, light and dark: no finding of axe-core, no scrolling sideways. */
export async function expectGoodEverywhere(page: Page, name: string): Promise<void> {
  await expectGoodIn(page, name, ALL_VIEWS);
}

/**
 * As {@link expectGoodEverywhere}, wide in the light and narrow in the dark, for a further state of a page that passes
 * that in another state.
 */
export async function expectGoodState(page: Page, name: string): Promise<void> {
  await expectGoodIn(page, name, STATE_VIEWS);
}

/** As {@link expectGoodEverywhere}, in the window and the theme that the page has. `fullPage`: the picture is all of it. */
export async function expectGood(page: Page, name: string, { fullPage = true } = {}): Promise<void> {
  await screenshot(page, name, { fullPage });
  await expectNoFindings(page, ALL_RULES);
  const [width, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const);
  expect({ name, width }).toEqual({ name, width: Math.min(width, room) });
}

/** Writes the page to `NAME.png` in the folder of the variable SCREENSHOTS. Does nothing without it. */
export async function screenshot(page: Page, name: string, { fullPage = true } = {}): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage, animations: 'disabled' });
}

/** Writes pictures of the page at each width, light and dark, and as it is printed, where {@link screenshot} writes. */
async function picture(page: Page, name: string): Promise<void> {
  if (!process.env.SCREENSHOTS) return;
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of PICTURED_WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await screenshot(page, `${name}-${width}-${colorScheme}`);
    }
  }
  await page.setViewportSize({ width: PAPER_WIDTH, height: 900 });
  await page.emulateMedia({ media: 'print' });
  await screenshot(page, `${name}-print`);
  await page.emulateMedia({ media: null });
}

async function expectGoodIn(page: Page, name: string, views: readonly View[]): Promise<void> {
  await picture(page, name);
  for (const [width, colorScheme, rules] of views) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    await expectNoFindings(page, rules);
  }
  await expectNoOverflow(page, name);
}

/** Fails with each finding of axe-core and the element that it is about. */
async function expectNoFindings(page: Page, rules: Rules): Promise<void> {
  // Colours and places are judged as they are: an animation must have ended.
  await page.evaluate(() => {
    const ending = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity);
    return Promise.all(ending.map(({ finished }) => finished.catch(() => null)));
  });
  // Parsing it takes as long as using it: a page gets it once.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
  const violations = await page.evaluate(async (runOnly): Promise<Result[]> => {
    const { axe } = window as unknown as { axe: { run(options: object): Promise<AxeResults> } };
    // It would copy the style of a shadow root into a document of its own, which breaks the policy of the page.
    const preload = false;
    return (await axe.run({ runOnly, resultTypes: ['violations'], preload })).violations;
  }, rules);
  const findings = violations.flatMap(({ id, help, nodes }) =>
    nodes.map(
      ({ target, html, failureSummary }) => `${id}: ${help}\n  ${target.join(' ')}\n  ${html}\n  ${failureSummary}`,
    ),
  );
  expect(findings).toEqual([]);
}

/**
 * At every width neither the page nor a card or dialog on it is wider than its room, and no dialog leaves the window.
 * Leaves the page 1280 px wide, and light.
 */
async function expectNoOverflow(page: Page, name: string): Promise<void> {
  for (const width of NARROWEST_TO_WIDEST) {
    await page.setViewportSize({ width, height: 640 });
    const [actual, tooWide] = await page.evaluate(async () => {
      // Charts follow the size of their card in the frame after; all else is laid out when it is asked for.
      if (document.querySelector('canvas')) {
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      }
      const wide = [...document.querySelectorAll('html, main, .card, dialog[open], .upload-tray')].filter(
        ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth,
      );
      const outside = [...document.querySelectorAll('dialog[open], dialog[open] .form-actions')].filter((element) => {
        const { left, right, top, bottom } = element.getBoundingClientRect();
        return left < 0 || top < 0 || right > innerWidth || bottom > innerHeight + 0.5;
      });
      const found = [...wide, ...outside].map(({ tagName, className, scrollWidth, clientWidth }) =>
        [tagName, className, scrollWidth, clientWidth].join(' '),
      );
      return [innerWidth, found] as const;
    });
    expect({ name, width: actual, tooWide }).toEqual({ name, width, tooWide: [] });
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ colorScheme: 'light' });
}

/** Presses Tab until the element with this name, once it is there, has the focus. @throws Error when it is never reached */
export async function tabTo(page: Page, role: string, name: string): Promise<void> {
  await page
    .getByRole(role as 'button', { name, exact: true })
    .first()
    .waitFor();
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab');
    const focused = page.locator(':focus');
    const found = page.getByRole(role as 'button', { name, exact: true }).and(focused);
    if ((await found.count()) > 0) return;
  }
  throw new Error(`Tab does not reach the ${role} "${name}"`);
}
