import type { Page } from 'playwright-core';
import type { ApiClient } from '../../src/testing/api-client.js';
import { useService } from '../../src/testing/test-service.js';
import { expectAccessible } from '../support/browser/accessibility.js';
import { useBrowser } from '../support/browser/browser.js';
import { screenshot } from '../support/browser/screenshot.js';

import { addNote, evenly } from '../support/state/spoken-notes.js';

const route = (id: string) => `/recordings/${id}`;
const playButton = (page: Page) => page.getByRole('button', { name: 'Play', exact: true });

/** Remembers which words are lit: a word may be over before a test has looked. */
async function watchSpoken(page: Page): Promise<void> {
  await page.evaluate(() => {
    const spoken: string[] = ((window as { spoken?: string[] }).spoken = []);
    const text = document.querySelector('.transcript-text') as HTMLElement;
    new MutationObserver((changes) => {
      for (const { target } of changes) {
        const { classList, textContent } = target as HTMLElement;
        if (classList.contains('is-spoken')) spoken.push(textContent ?? '');
      }
    }).observe(text, { subtree: true, attributeFilter: ['class'] });
  });
}

async function expectSpoken(page: Page, words: string[]): Promise<void> {
  const until = (wanted: string) => ((window as { spoken?: string[] }).spoken ?? []).join(' ').includes(wanted);
  await page.waitForFunction(until, words.join(' '), { timeout: 10_000 });
}

/** Each state of the page has to pass this, and to be looked at. */
async function judge(page: Page, name: string): Promise<void> {
  await screenshot(page, `recording-${name}`);
  await expectAccessible(page);
  const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  expect(widths[0]).toBeLessThanOrEqual(widths[1] as number);
  await screenshot(page, `recording-${name}`);
}

describe('a recording of speech, from the upload to the word that is spoken', () => {
  const service = useService();
  const browser = useBrowser();

  it('shows its words when they are there, and plays them', async () => {
    const client = await service.account();
    const { body } = await client.upload('jfk.wav', { custom_tags: '{"ticket":"T-1042"}' }).expect(201);
    const page = await browser.page({ signedInAs: client, route: route(body.id) });
    await page.getByRole('heading', { name: 'jfk.wav' }).waitFor();

    await page.locator('.word').nth(8).waitFor({ timeout: 30_000 });
    await page.locator('.waveform').waitFor();
    const words = await page.locator('.word').allTextContents();
    await watchSpoken(page);
    await page.locator('.word').nth(1).click();
    await expectSpoken(page, words.slice(1, 6));
    await judge(page, 'played');
    await page.keyboard.press(' ');
    await playButton(page).waitFor();
  });
});

describe('the page of a recording', () => {
  const service = useService({ ROLES: 'api' });
  const browser = useBrowser();
  let client: ApiClient;

  beforeAll(async () => {
    client = await service.account();
  });

  it('looks right', async () => {
    const text =
      'Good morning, this is Anna from the north gate. The delivery came at a quarter past eight, and two of the boxes are damaged.\nPlease call the carrier before noon, because the driver leaves at one. The order number is 4471.';
    const id = await addNote(service, client, {
      filename: 'delivery at the north gate.wav',
      text,
      words: evenly(text, (n) => (n % 9 === 4 ? 0.41 : 0.94)),
      tags: { ticket: 'T-1042', site: 'north' },
    });
    for (const [width, height] of [
      [1280, 800],
      [360, 740],
    ] as const) {
      for (const theme of ['light', 'dark'] as const) {
        const page = await browser.page({ signedInAs: client, route: route(id), width, height, theme });
        await page.locator('.word').first().waitFor();
        await page.locator('.word', { hasText: 'delivery' }).click();
        await page.waitForTimeout(700);
        await judge(page, `text-${width}-${theme}`);
      }
    }
  });
});
