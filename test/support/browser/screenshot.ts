import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

/** Writes the whole page to `NAME.png` in the folder of the variable SCREENSHOTS. Does nothing without it. */
export async function screenshot(page: Page, name: string, { fullPage = true } = {}): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage, animations: 'disabled' });
}
