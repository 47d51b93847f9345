import { chromium } from 'playwright-core';
import { findTestBrowser } from '../../../scripts/lib/system-packages.mjs';
import { atMost, median, published } from '../lib/figures.mjs';
import { insertNotes } from '../lib/notes.mjs';

const NOTES = 1000;
/** In 200 and in 333 of them: each search shows another page of results than the one before. */
const WORDS = ['rare', 'third'];
/** Between two keys; less than the pause after which the console searches. */
const KEY_MS = 60;
const SEARCHES = 10;

/** What a person waits for: the page that a link opens, and the results of a search while typing. */
export async function measureConsole(stage, { pairs }) {
  const account = await stage.account();
  await insertNotes(stage, account.id, NOTES);
  const service = await stage.service('api');
  const browser = await chromium.launch({ executablePath: findTestBrowser(), args: ['--no-sandbox'] });
  try {
    const loads = [];
    // The first also starts processes of the browser.
    for (let i = 0; i <= pairs; i++) loads.push(await load(browser, service, account));
    const paints = loads.slice(1).map(({ paint }) => paint);
    const lists = loads.slice(1).map(({ list }) => list);
    const searches = await search(browser, service, account);
    const opened = 'console, signed in by a link: first contentful paint (ms)';
    const found = `console, search among ${NOTES}: from the last key to the results (ms)`;
    return [
      atMost(1000, opened, median(paints), `${rangeOf(paints)}; of the first load ${Math.round(loads[0].paint)}`),
      published('… until the list shows recordings (ms)', median(lists)),
      atMost(100_000, '… bytes transferred for it', loads[0].bytes),
      atMost(200, found, median(searches), `${rangeOf(searches)}, with the pause after a key`),
    ];
  } finally {
    await browser.close();
  }
}

const rangeOf = (values) => `${Math.round(Math.min(...values))} to ${Math.round(Math.max(...values))}`;

/** Each with an empty cache. */
async function load(browser, service, account) {
  const page = await openConsole(browser, service, account);
  const list = await page.evaluate(() => performance.now());
  const { paint, bytes } = await page.evaluate(() => ({
    paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    bytes: [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .filter(({ name }) => !name.includes('/v1/'))
      .reduce((sum, { transferSize }) => sum + transferSize, 0),
  }));
  await page.context().close();
  return { paint, list, bytes };
}

async function openConsole(browser, { url }, { headers }) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const made = await fetch(`${url}/v1/account/sign-in-codes`, { method: 'POST', headers });
  const { code } = await made.json();
  await page.goto(`${url}/#${new URLSearchParams({ code })}`);
  await page.getByRole('listitem').filter({ hasText: 'note-' }).first().waitFor();
  return page;
}

/** Milliseconds from the event of the last key to the frame after the results, as the page itself measures them. */
async function search(browser, service, account) {
  const page = await openConsole(browser, service, account);
  const box = page.getByRole('searchbox');
  const times = [];
  for (let i = 0; i <= SEARCHES; i++) {
    const word = WORDS[i % WORDS.length];
    await box.selectText();
    const measured = page.evaluate(timeToResults, word);
    await page.keyboard.type(word, { delay: KEY_MS });
    times.push(await measured);
  }
  return times.slice(1);
}

/** Runs in the page. */
function timeToResults(word) {
  let pressedAt = 0;
  const note = (event) => (pressedAt = event.timeStamp);
  document.addEventListener('keydown', note, { capture: true });
  return new Promise((resolve) => {
    const look = () => {
      const marks = [...document.querySelectorAll('main mark')];
      const isShown = marks.length > 0 && marks.every(({ textContent }) => textContent === word);
      if (!isShown || document.querySelector('main [aria-busy="true"]')) return requestAnimationFrame(look);
      document.removeEventListener('keydown', note, { capture: true });
      // The next frame begins when this one has been painted.
      return requestAnimationFrame(() => resolve(performance.now() - pressedAt));
    };
    look();
  });
}
