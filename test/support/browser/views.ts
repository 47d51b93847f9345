import type { Page } from 'playwright-core';
import { expectAccessible, expectAccessibleColours, structureOf } from './accessibility.js';
import { screenshot } from './screenshot.js';

const WIDTHS = [1280, 360];
/** Just where layouts change, and between: a width that fits no layout is most likely there. */
const NARROWEST_TO_WIDEST = [320, 360, 768, 896, 960, 1024, 1104, 1152, 1280];
const THEMES = ['light', 'dark'] as const;

/**
 * Looks at the page as it is now, wide and narrow, light and dark: no finding of axe-core, no scrolling sideways. In the
 * second theme only the rules about colours run where nothing else has changed.
 */
export async function expectGoodEverywhere(page: Page, name: string): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    let judged: string | null = null;
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme });
      await screenshot(page, `${name}-${width}-${colorScheme}`);
      const structure = await structureOf(page);
      await (structure === judged ? expectAccessibleColours(page) : expectAccessible(page));
      judged = structure;
    }
  }
  await expectNoOverflow(page, name);
}

/**
 * As {@link expectGoodEverywhere}, wide in the light and narrow in the dark, for a further state of a page that passes
 * that in another state.
 */
export async function expectGoodState(page: Page, name: string): Promise<void> {
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [360, 'dark'],
  ] as const) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    await screenshot(page, `${name}-${width}-${colorScheme}`);
    await expectAccessible(page);
  }
  await expectNoOverflow(page, name);
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
