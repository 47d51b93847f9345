import type { Page } from 'playwright-core';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { addNote } from '../../support/state/spoken-notes.js';
import { useConsole } from '../../support/browser/browser.js';

const WORDS = 20_000;
const SECONDS = 7200;
const PARAGRAPH = 120;

/** Milliseconds of scripts and of all work of the page in each second, from now on for so many. */
async function load(page: Page, seconds: number): Promise<{ script: number; task: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const read = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  };
  const before = await read();
  await page.waitForTimeout(seconds * 1000);
  const after = await read();
  const per = (name: string) => Math.round((((after[name] ?? 0) - (before[name] ?? 0)) / seconds) * 1000);
  return { script: per('ScriptDuration'), task: per('TaskDuration') };
}

/** Measures interactions from now on: from the input to what is painted, as browsers do. */
const watchInteractions = (page: Page) =>
  page.evaluate(() => {
    const longest: Record<string, number> = {};
    Object.assign(globalThis, { longest });
    new PerformanceObserver((list) => {
      for (const { name, duration } of list.getEntries()) longest[name] = Math.max(longest[name] ?? 0, duration);
    }).observe({ type: 'event', durationThreshold: 16 } as PerformanceObserverInit);
  });

/** The longest of each kind so far, in milliseconds. */
const slowestOf = async (page: Page) => {
  await page.waitForTimeout(300);
  return await page.evaluate(() => ({ ...(globalThis as unknown as { longest: Record<string, number> }).longest }));
};

/** The longest interaction. */
const slowest = async (page: Page) => Math.max(...Object.values(await slowestOf(page)));

/** Where the page is once it has come to rest: a wheel scrolls for a while. */
const restingPlace = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        let [place, frames] = [scrollY, 0];
        const look = () => {
          frames = scrollY === place ? frames + 1 : 0;
          place = scrollY;
          if (frames < 5) requestAnimationFrame(look);
          else resolve(place);
        };
        requestAnimationFrame(look);
      }),
  );

describe('a recording of two hours', () => {
  const tested = useConsole();
  const { service } = tested;
  let client: ApiClient;
  let id: string;

  beforeAll(async () => {
    client = await service.account();
    const step = SECONDS / WORDS;
    const words = Array.from({ length: WORDS }, (_, n) => ({
      word: n === 15_000 ? 'needle' : `word${n % 997}`,
      start: n * step,
      end: n * step + 0.2,
      confidence: n % 20 === 7 ? 0.3 : 0.95,
    }));
    const text = words.map(({ word }, n) => (n % PARAGRAPH === PARAGRAPH - 1 ? `${word}.\n` : `${word} `)).join('');
    id = await addNote(service, client, { filename: 'meeting.wav', text: text.trim(), words, seconds: SECONDS });
  });

  it('follows what is spoken, lets go when one scrolls, and stays quick', async () => {
    const page = await tested.open({ signedInAs: client, route: `/recordings/${id}` });
    await page.locator('.word').first().waitFor();
    await watchInteractions(page);
    const opened = await page.evaluate(() => document.querySelectorAll('.word').length);
    expect(opened).toBeLessThan(WORDS / 5);

    await page.getByRole('slider', { name: 'Position' }).evaluate((range: HTMLInputElement) => {
      range.value = '3600';
      range.dispatchEvent(new Event('input', { bubbles: true }));
    });
    await page.getByRole('button', { name: 'Play', exact: true }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    const spoken = page.locator('.word.is-spoken');
    await spoken.waitFor();
    await page.waitForFunction(() => {
      const { top = -1 } = document.querySelector('.word.is-spoken')?.getBoundingClientRect() ?? {};
      return top > 0 && top < innerHeight;
    });
    const playing = await load(page, 5);

    await page.mouse.move(600, 600);
    await page.mouse.wheel(0, -6000);
    const back = page.getByRole('button', { name: 'Back to the current word' });
    await back.waitFor();
    const scrolled = await restingPlace(page);
    await page.waitForTimeout(1000);
    expect(await page.evaluate(() => scrollY)).toBe(scrolled);
    await back.click();
    await back.waitFor({ state: 'detached' });
    await spoken.waitFor();

    await page.keyboard.press('/');
    await page.getByRole('searchbox', { name: 'Search this transcript' }).fill('needle');
    await page.getByText('1 of 1').waitFor();
    await page.locator('.word.is-hit').waitFor();
    await restingPlace(page);
    await page.locator('.word.is-hit').click();
    const interaction = await slowest(page);
    if (process.env.SHOW_SIZES) console.log({ opened, playing, interaction });
    expect(await page.evaluate(() => document.querySelectorAll('.word').length)).toBeLessThan(WORDS / 4);
  });

  it('is corrected where it stands: typed in, divided, joined, undone, and saved with the times of all other words', async () => {
    const page = await tested.open({ signedInAs: client, route: `/recordings/${id}` });
    await page.locator('.word').first().waitFor();
    await watchInteractions(page);
    await page.keyboard.press('/');
    await page.getByRole('searchbox', { name: 'Search this transcript' }).fill('needle');
    await page.locator('.word.is-hit').hover();
    await restingPlace(page);
    // As a hand does it: a pause between the clicks.
    for (const clickCount of [1, 2]) {
      await page.mouse.down({ clickCount });
      await page.mouse.up({ clickCount });
      await page.waitForTimeout(120);
    }
    const editor = page.getByRole('textbox', { name: 'Corrected text' });
    await editor.waitFor();
    const opening = await slowestOf(page);
    const paragraphs = () => editor.locator('.block-text').count();
    const before = await paragraphs();
    const isShown = (text: string) => editor.locator('.block-text', { hasText: text }).waitFor();
    await page.keyboard.type('haystack and pitchfork');
    await isShown('haystack and pitchfork');
    await page.keyboard.press('Enter');
    await page.keyboard.type('here ');
    expect(await paragraphs()).toBe(before + 1);
    for (let n = 0; n < 6; n += 1) await page.keyboard.press('Backspace');
    expect(await paragraphs()).toBe(before);
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => String(document.getSelection()))).toBe('word52');
    await page.keyboard.press('Shift+ArrowDown');
    await page.keyboard.press('Delete');
    await page.keyboard.press('Control+z');
    await page.keyboard.press('Control+y');
    await page.keyboard.press('Control+z');
    await isShown('pitchfork word46 word47');
    await page.keyboard.press('PageDown');
    await page.keyboard.type('x');
    await page.keyboard.press('Control+z');
    const editing = await slowestOf(page);
    await page.keyboard.press('Control+Enter');
    await page.getByText('Correction saved.').waitFor();
    await page.locator('.word', { hasText: 'haystack' }).waitFor();
    const saving = await slowestOf(page);
    if (process.env.SHOW_SIZES) console.log({ opening, editing, saving });
    const { body } = await client.get(`/v1/recordings/${id}/transcription`).expect(200);
    const words = JSON.parse(body.words as string) as { word: string; start: number }[];
    const step = SECONDS / WORDS;
    expect(words).toHaveLength(WORDS + 2);
    expect(words[14_999]?.start).toBeCloseTo(14_999 * step, 3);
    expect(words.slice(15_000, 15_003).map(({ word }) => word)).toEqual(['haystack', 'and', 'pitchfork']);
    expect(words[15_003]?.start).toBeCloseTo(15_001 * step, 3);
    expect(words.at(-1)?.start).toBeCloseTo((WORDS - 1) * step, 3);
  });
});
