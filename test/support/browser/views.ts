import type { Page } from 'playwright-core';
import { expectAccessible, expectAccessibleColours, structureOf } from './accessibility.js';
import { screenshot } from './screenshot.js';

const WIDTHS = [1280, 360];
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
    const { content, view } = await page.evaluate(() => ({
      content: document.documentElement.scrollWidth,
      view: document.documentElement.clientWidth,
    }));
    expect({ name, width, content }).toEqual({ name, width, content: view });
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
