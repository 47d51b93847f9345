import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { expectAccessible } from '../../support/browser/accessibility.js';
import { signInByLink, useBrowser } from '../../support/browser/browser.js';
import { screenshot } from '../../support/browser/screenshot.js';
import { fail, transcribe, upload } from '../../support/state/recording-states.js';
import { addNote, evenly } from '../../support/state/spoken-notes.js';

const TEXT = 'the delivery came at a quarter passed eight and two boxes are damaged';
const RIGHT = 'The delivery came at a quarter past eight, and two boxes are damaged.';

const route = (id: string) => `/recordings/${id}`;
const editor = (page: Page) => page.getByRole('textbox', { name: 'Corrected text' });
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });

async function judge(page: Page, name: string): Promise<void> {
  await screenshot(page, `recording-${name}`);
  await expectAccessible(page);
  const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  expect(widths[0]).toBeLessThanOrEqual(widths[1] as number);
}

describe('the text of a recording', () => {
  const service = useService({ ROLES: 'api' });
  const browser = useBrowser();
  let client: ApiClient;

  beforeAll(async () => {
    client = await service.account();
  });

  const add = () => addNote(service, client, { filename: 'north gate.wav', text: TEXT, words: evenly(TEXT) });
  const served = async (id: string) => (await client.get(`/v1/recordings/${id}/transcription`)).body.text as string;

  async function open(id: string, options: Parameters<typeof browser.page>[0] = {}): Promise<Page> {
    const page = await browser.page({ signedInAs: client, route: route(id), ...options });
    page.setDefaultTimeout(10_000);
    await page.locator('.live-mark.is-live').first().waitFor({ state: 'attached' });
    return page;
  }

  it('is corrected, shows what the engine heard beside it, and goes back to it', async () => {
    const id = await add();
    const page = await open(id);
    await button(page, 'Correct').click();
    await page.getByText('What the engine heard').click();
    await editor(page).fill(RIGHT);
    await judge(page, 'editor');
    await page.keyboard.press('Control+Enter');
    await page.getByText('The correction is saved.').waitFor();
    expect(await served(id)).toBe(RIGHT);

    await button(page, 'As heard').click();
    await page.locator('.word', { hasText: 'passed' }).waitFor();
    await judge(page, 'as-heard');
    await button(page, 'Go back to it').click();
    await page.getByRole('heading', { name: 'Text', exact: true }).waitFor();
    expect(await served(id)).toBe(TEXT);
    await button(page, 'Undo').click();
    await page.locator('.word', { hasText: 'past' }).waitFor();
    expect(await served(id)).toBe(RIGHT);
  });

  it('keeps what was typed when the tab is closed, and asks before it is left', async () => {
    const id = await add();
    const page = await open(id, { width: 360, theme: 'dark' });
    await button(page, 'Correct').click();
    await editor(page).fill(RIGHT);
    await page.getByRole('link', { name: 'Recordings' }).first().click();
    const question = page.getByRole('dialog', { name: 'Leave without saving?' });
    await question.waitFor();
    await judge(page, 'leave');
    await question.getByRole('button', { name: 'Stay' }).click();
    expect(await editor(page).inputValue()).toBe(RIGHT);

    const second = await page.context().newPage();
    const [dialog] = await Promise.all([page.waitForEvent('dialog'), page.close({ runBeforeUnload: true })]);
    expect(dialog.type()).toBe('beforeunload');
    await Promise.all([page.waitForEvent('close'), dialog.accept()]);

    await signInByLink(second, client);
    await second.evaluate((path) => (location.hash = path), route(id));
    await second.getByText(/You began to correct this text/).waitFor();
    await judge(second, 'draft');
    await button(second, 'Continue').click();
    expect(await editor(second).inputValue()).toBe(RIGHT);
    await button(second, 'Save the correction').click();
    await second.getByText('The correction is saved.').waitFor();
    expect(await served(id)).toBe(RIGHT);
    const drafts = await second.evaluate(async () => JSON.stringify(await indexedDB.databases()));
    expect(drafts).toContain('vnotes-drafts');
    await second.reload();
    expect(await second.getByText(/You began to correct/).count()).toBe(0);
  });

  it('asks before the browser goes back, and goes back when the changes are dropped', async () => {
    const id = await add();
    const page = await open(id);
    await page.evaluate(() => (location.hash = '/usage'));
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    await page.evaluate((path) => (location.hash = path), route(id));
    await button(page, 'Correct').click();
    await editor(page).fill(RIGHT);
    const question = page.getByRole('dialog', { name: 'Leave without saving?' });

    for (const answer of ['Stay', 'Leave and discard it']) {
      await page.goBack();
      await question.waitFor();
      expect(new URL(page.url()).hash).toBe(`#${route(id)}`);
      expect(await editor(page).inputValue()).toBe(RIGHT);
      await question.getByRole('button', { name: answer, exact: true }).click();
      await question.waitFor({ state: 'hidden' });
    }
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    expect(new URL(page.url()).hash).toBe('#/usage');
  });

  it('shows both texts when somebody else has saved meanwhile, and lets one choose', async () => {
    const id = await add();
    const theirs = TEXT.replace('two', 'three');
    const page = await open(id);
    await button(page, 'Correct').click();
    await editor(page).fill(RIGHT);
    await client.put(`/v1/recordings/${id}/transcription`, { text: theirs }).expect(200);
    await button(page, 'Save the correction').click();
    await page.getByRole('heading', { name: 'Somebody else has changed this text' }).waitFor();
    await judge(page, 'conflict');
    expect(await served(id)).toBe(theirs);
    await button(page, 'Go on editing mine').click();
    expect(await editor(page).inputValue()).toBe(RIGHT);
    await button(page, 'Save the correction').click();
    await page.getByText('The correction is saved.').waitFor();
    expect(await served(id)).toBe(RIGHT);
  });

  it('of two tabs stays in both: what one saves takes nothing from the other', async () => {
    const id = await add();
    const [first, theirs] = [await open(id), TEXT.replace('two', 'three')];
    const second = await first.context().newPage();
    await signInByLink(second, client);
    await second.evaluate((path) => (location.hash = path), route(id));
    for (const [page, text] of [
      [first, theirs],
      [second, RIGHT],
    ] as const) {
      await button(page, 'Correct').click();
      await editor(page).fill(text);
    }
    await button(first, 'Save the correction').click();
    await first.getByText('The correction is saved.').waitFor();
    await button(second, 'Save the correction').click();
    await second.getByRole('heading', { name: 'Somebody else has changed this text' }).waitFor();
    const marked = await second.locator('.conflict-side').first().locator('mark').allTextContents();
    expect(marked.join('|')).toContain('two');
    expect(marked.join('|')).not.toContain('delivery');

    await second.getByRole('link', { name: 'Recordings' }).first().click();
    const question = second.getByRole('dialog', { name: 'Leave without saving?' });
    await question.getByRole('button', { name: 'Leave and keep the draft' }).click();
    await second.getByRole('heading', { name: 'Recordings', level: 1 }).waitFor();
    await second.evaluate((path) => (location.hash = path), route(id));
    await button(second, 'Continue').click();
    expect(await editor(second).inputValue()).toBe(RIGHT);
    expect(await served(id)).toBe(theirs);

    await button(second, 'Cancel').click();
    await second.getByRole('button', { name: 'Sign out' }).first().click();
    await second.getByRole('button', { name: 'Sign in' }).waitFor();
    const kept = await second.evaluate(async () => (await indexedDB.databases()).map(({ name }) => name));
    expect(kept).not.toContain('vnotes-drafts');
  });

  it('is transcribed again, says what goes on, and lists the versions', async () => {
    const id = await add();
    const page = await open(id);
    await page.locator('summary[aria-label="More"]').click();
    await button(page, 'Transcribe again…').click();
    const dialog = page.getByRole('dialog', { name: 'Transcribe again' });
    await dialog.getByRole('combobox', { name: 'Language' }).fill('klingon');
    await dialog.getByRole('button', { name: 'Transcribe again' }).click();
    await dialog.getByRole('alert').first().waitFor();
    await judge(page, 'again');
    await dialog.getByRole('combobox', { name: 'Language' }).fill('english');
    await dialog.getByRole('textbox', { name: 'Names and words to expect' }).fill('quarter\nboxes');
    await dialog.getByRole('button', { name: 'Transcribe again' }).click();
    await page.getByText('It is being transcribed again.').waitFor();
    await fail(service, id, 'The engine crashed 5 times on this recording.');
    await page.getByText('The engine broke down on this recording 5 times.').waitFor();
    await judge(page, 'again-failed');
    await client.post(`/v1/recordings/${id}/transcribe`, {}).expect(202);
    await transcribe(service, id, { text: RIGHT, words: evenly(RIGHT), model: 'newer' });
    await page.locator('.word', { hasText: 'past' }).waitFor();
    await page.locator('summary', { hasText: 'Versions' }).click();
    await page.getByText('test · newer · English').waitFor();
    await page.getByText('test · test-model · English').waitFor();
    await judge(page, 'versions');
  });

  it('is downloaded in each form with a name that says what it is', async () => {
    const id = await add();
    const page = await open(id);
    const download = async (name: RegExp) => {
      await page.locator('summary', { hasText: 'Download' }).click();
      const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
      return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') };
    };
    expect(await download(/Text/)).toEqual({ name: 'north gate.txt', text: expect.stringContaining(TEXT) });
    expect(await download(/\.srt/)).toEqual({
      name: 'north gate.srt',
      text: expect.stringContaining('00:00:00,000 -->'),
    });
    expect(await download(/\.vtt/)).toEqual({ name: 'north gate.vtt', text: expect.stringMatching(/^WEBVTT/) });
    expect(await download(/Audio/)).toEqual({ name: 'north gate.wav', text: expect.stringMatching(/^RIFF/) });
  });

  it('is deleted with its recording, unless one takes it back', async () => {
    const id = await add();
    const page = await open(id);
    const remove = async () => {
      await page.locator('summary[aria-label="More"]').click();
      await judge(page, 'menu');
      await button(page, 'Delete').click();
      await page.getByText('Deleting “north gate.wav”.').waitFor();
    };
    await remove();
    await button(page, 'Undo').click();
    await client.get(`/v1/recordings/${id}`).expect(200);
    expect(await upload(client)).toBeTruthy();
  });
});
