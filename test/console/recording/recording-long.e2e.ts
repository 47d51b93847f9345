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

/** The longest interaction since the page was opened, in milliseconds, as browsers measure it. */
const slowest = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        let longest = 0;
        const observer = new PerformanceObserver((list) => {
          for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
        });
        observer.observe({ type: 'event', buffered: true, durationThreshold: 16 } as PerformanceObserverInit);
        setTimeout(() => resolve(longest), 300);
      }),
  );

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
    await page.locator('.word.is-hit').click();
    const interaction = await slowest(page);
    if (process.env.SHOW_SIZES) console.log({ opened, playing, interaction });
    expect(await page.evaluate(() => document.querySelectorAll('.word').length)).toBeLessThan(WORDS / 4);
  });
});
