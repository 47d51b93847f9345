import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { fail, transcribe, upload } from '../../support/state/recording-states.js';
import { addNote, evenly } from '../../support/state/spoken-notes.js';
import { go, isLive, signInByLink, useConsole } from '../../support/browser/browser.js';
import { expectGood } from '../../support/browser/views.js';

const TEXT = 'the delivery came at a quarter passed eight and two boxes are damaged';
const RIGHT = 'The delivery came at a quarter past eight, and two boxes are damaged.';

const route = (id: string) => `/recordings/${id}`;
const editor = (page: Page) => page.getByRole('textbox', { name: 'Corrected text' });
/** As it will be saved: with an empty line between paragraphs. */
const typed = async (page: Page) => (await editor(page).locator('.block-text').allTextContents()).join('\n\n');
/** The words that are marked, in the part of the text that is near the window. */
const highlighted = (page: Page, name: 'unsure' | 'spoken') =>
  page.evaluate((of) => [...(CSS.highlights.get(of) ?? [])].map(String), name);
const exactly = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

describe('the text of a recording', () => {
  const tested = useConsole();
  const { service } = tested;
  let client: ApiClient;

  beforeEach(() => {
    client = tested.account;
  });

  /** Of the words "The", "passed" and "two" the engine is not sure. */
  const WORDS = evenly(TEXT, (n) => ([0, 6, 9].includes(n) ? 0.3 : 0.93));
  const add = () => addNote(service, client, { filename: 'north gate.wav', text: TEXT, words: WORDS });
  const served = async (id: string) => (await client.get(`/v1/recordings/${id}/transcription`)).body.text as string;

  async function open(id: string, options: Parameters<typeof tested.open>[0] = {}): Promise<Page> {
    const page = await tested.open({ route: route(id), ...options });
    await isLive(page);
    return page;
  }

  it('is corrected where it stands, shows what the engine heard, and goes back to it', async () => {
    const id = await add();
    const page = await open(id);
    await page.locator('.word', { hasText: 'passed' }).dblclick();
    await page.keyboard.type('past');
    await eventually(async () => (await highlighted(page, 'unsure')).join() === 'the,two');
    await expectGood(page, 'recording-editor');
    await page.keyboard.press('Home');
    await page.keyboard.press('Delete');
    await page.keyboard.type('T');
    await page.keyboard.press('Control+ArrowRight');
    await editor(page).evaluate((text) => {
      const node = text.querySelector('p')?.firstChild as Text;
      document.getSelection()?.setPosition(node, node.data.indexOf('eight') + 'eight'.length);
    });
    await page.keyboard.type(',');
    await page.keyboard.press('End');
    await page.keyboard.type('.');
    expect(await typed(page)).toBe(RIGHT);
    await page.keyboard.press('Control+Enter');
    await page.getByText('Correction saved.').waitFor();
    expect(await served(id)).toBe(RIGHT);
    const unsure = page.locator('.word.is-unsure');
    await eventually(async () => (await unsure.allTextContents()).join() === 'two');

    await exactly(page, 'Original').click();
    await page.locator('.word', { hasText: 'passed' }).waitFor();
    expect(await unsure.allTextContents()).toEqual(['the', 'passed', 'two']);
    await expectGood(page, 'recording-as-heard');
    await exactly(page, 'Restore original').click();
    await page.getByRole('heading', { name: 'Transcript', exact: true }).waitFor();
    expect(await served(id)).toBe(TEXT);
    await exactly(page, 'Undo').click();
    await page.locator('.word', { hasText: 'past' }).waitFor();
    expect(await served(id)).toBe(RIGHT);
  });

  it('is corrected by keyboard alone: unsure words one after the other, and a way out of the text', async () => {
    const id = await add();
    const page = await open(id, { width: 360, theme: 'dark' });
    const level = page.getByRole('combobox', { name: 'Mark words below this confidence' });
    const unsure = page.locator('.word.is-unsure');
    await eventually(async () => (await unsure.count()) === 3);
    await level.selectOption('0.3');
    await eventually(async () => (await unsure.count()) === 0);
    await level.selectOption('0');
    expect(await page.getByRole('button', { name: /unsure/ }).count()).toBe(0);
    await page.locator('.word').first().waitFor();
    await level.selectOption('0.9');
    await eventually(async () => (await unsure.count()) === 3);

    await page.keyboard.press('Escape');
    await page.locator('h1').focus();
    await page.keyboard.press('e');
    await editor(page).waitFor();
    const selected = () => page.evaluate(() => String(document.getSelection()));
    for (const [key, word] of [
      ['Tab', 'the'],
      ['Tab', 'passed'],
      ['Shift+Tab', 'the'],
      ['Tab', 'passed'],
    ] as const) {
      await page.keyboard.press(key);
      expect(await selected()).toBe(word);
    }
    await page.keyboard.type('past');
    await expectGood(page, 'recording-editor-narrow');
    await page.keyboard.press('Tab');
    expect(await selected()).toBe('two');
    const isInText = () => page.evaluate(() => document.activeElement?.matches('[role=textbox]') ?? false);
    await page.keyboard.press('Tab');
    expect(await isInText()).toBe(false);
    await editor(page).focus();
    await page.keyboard.press('Control+z');
    expect(await typed(page)).toBe(TEXT);
    await page.keyboard.press('Control+Shift+z');
    expect(await typed(page)).toBe(TEXT.replace('passed', 'past'));
    await page.keyboard.press('Escape');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Save');
    await page.keyboard.press('Enter');
    await page.getByText('Correction saved.').waitFor();
    expect(await served(id)).toBe(TEXT.replace('passed', 'past'));
  });

  it('keeps the paragraphs that a person makes, also where somebody pauses, and takes what is pasted as plain text', async () => {
    const words = evenly('one two three four').map((word, n) =>
      n < 2 ? word : { ...word, start: n + 5, end: n + 5.3 },
    );
    const id = await addNote(service, client, { text: 'one two three four', words });
    const page = await open(id);
    const paragraphs = () => page.locator('.transcript-text .block-text').allTextContents();
    await eventually(async () => (await paragraphs()).join('|') === 'one two|three four');
    await page.locator('.word', { hasText: 'three' }).dblclick();
    await page.keyboard.press('Home');
    await page.keyboard.press('Backspace');
    await eventually(async () => (await paragraphs()).join('|') === 'one two three four');
    await page.keyboard.press('Control+Enter');
    await page.getByText('Correction saved.').waitFor();
    await eventually(async () => (await paragraphs()).join('|') === 'one two three four');
    expect(await served(id)).toBe('one two three four');

    await page.locator('.word', { hasText: 'two' }).dblclick();
    await page.evaluate(() =>
      navigator.clipboard.write([
        new ClipboardItem({
          'text/plain': new Blob(['2\n\nand then'], { type: 'text/plain' }),
          'text/html': new Blob(['<b>2</b><p>and then'], { type: 'text/html' }),
        }),
      ]),
    );
    await page.keyboard.press('Control+v');
    await eventually(async () => (await paragraphs()).join('|') === 'one 2|and then three four');
    expect(await editor(page).locator('b').count()).toBe(0);
    await page.keyboard.press('Control+a');
    await page.keyboard.press('Control+b');
    await page.keyboard.press('Backspace');
    expect(await paragraphs()).toEqual(['']);
    await exactly(page, 'Undo').click();
    await exactly(page, 'Save').click();
    await eventually(async () => (await served(id)) === 'one 2\n\nand then three four');
    expect((await client.get(`/v1/recordings/${id}/transcription?format=paragraphs`)).text).toBe(
      'one 2\n\nand then three four',
    );
  });

  it('has the caret where one reads or listens, plays from there, and goes back there', async () => {
    const text = Array.from({ length: 3600 }, (_, n) => (n % 40 === 39 ? `word${n}.` : `word${n}`)).join(' ');
    const id = await addNote(service, client, { text, words: evenly(text), seconds: 1200 });
    const page = await open(id);
    /** The word at the caret, and where it stands in the window. */
    const place = () =>
      page.evaluate(() => {
        const { anchorNode, anchorOffset = 0 } = document.getSelection() ?? {};
        const value = anchorNode?.textContent ?? '';
        const word = /\S*$/.exec(value.slice(0, anchorOffset))?.[0] ?? '';
        const rest = /^\S*/.exec(value.slice(anchorOffset))?.[0] ?? '';
        const range = document.createRange();
        range.setStart(anchorNode as Node, anchorOffset);
        return { word: word + rest, top: range.getBoundingClientRect().top };
      });
    const position = async () => Number(await page.getByRole('slider', { name: 'Position' }).inputValue());

    await page.locator('.block-text').nth(10).scrollIntoViewIfNeeded();
    await page.evaluate(() => {
      const top = document.querySelector('.note-bar')?.getBoundingClientRect().bottom ?? 0;
      const paragraph = document.querySelectorAll('.block-text')[10] as HTMLElement;
      scrollBy(0, paragraph.getBoundingClientRect().top - top - 4);
    });
    const read = await page.locator('.block-text').nth(10).locator('.word').first().innerText();
    const topOf = (selector: string) =>
      page.evaluate((one) => {
        const paragraphs = [...document.querySelectorAll(one)];
        return paragraphs.find(({ textContent }) => textContent?.startsWith('word'))?.getBoundingClientRect().top;
      }, selector);
    const before = [await topOf('.block-text'), await page.evaluate(() => scrollY)];
    await exactly(page, 'Correct').click();
    await editor(page).waitFor();
    const first = await place();
    expect(first.word).toBe(read);
    expect(first.top).toBeGreaterThan(0);
    // Nothing moves as the text becomes one that is typed in.
    expect([await topOf('.block-text'), await page.evaluate(() => scrollY)]).toEqual(before);
    await expectGood(page, 'recording-editor-long');

    await page.keyboard.press('Control+Space');
    await exactly(page, 'Pause').waitFor();
    await eventually(async () => (await position()) > 0);
    const spoken = Number(read.replace(/\D/g, '')) / 3;
    expect(Math.abs((await position()) - spoken)).toBeLessThan(5);
    await page.keyboard.press('Control+Space');
    await exactly(page, 'Play').waitFor();
    await editor(page).evaluate((host) => {
      const paragraph = [...host.querySelectorAll('p')].find(({ textContent }) => textContent?.includes('word3000'));
      const node = paragraph?.firstChild as Text;
      document.getSelection()?.setPosition(node, node.data.indexOf('word3000'));
    });
    await page.keyboard.type('new words, ');
    await page.keyboard.press('Control+Space');
    // The position moves before the sound does, and until then the key would start it once more.
    await exactly(page, 'Pause').waitFor();
    // Playback goes on while a busy machine looks.
    await eventually(async () => (await position()) > 995);
    expect(await position()).toBeLessThan(1060);
    await page.keyboard.press('Control+Space');
    await exactly(page, 'Play').waitFor();
    await page.keyboard.press('Control+Enter');
    await page.getByText('Correction saved.').waitFor();
    const isSeen = () =>
      page.evaluate(() => {
        const word = [...document.querySelectorAll('.word')].find(({ textContent }) => textContent === 'word3000');
        const { top = -1 } = word?.getBoundingClientRect() ?? {};
        return top > 0 && top < innerHeight;
      });
    await eventually(isSeen);
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Correct');
  });

  it('keeps what was typed when the tab is closed, and asks before it is left', async () => {
    const id = await add();
    const page = await open(id, { width: 360, theme: 'dark' });
    await exactly(page, 'Correct').click();
    await editor(page).fill(RIGHT);
    await page.getByRole('link', { name: 'Recordings' }).first().click();
    const question = page.getByRole('dialog', { name: 'Leave without saving?' });
    await question.waitFor();
    await expectGood(page, 'recording-leave');
    await question.getByRole('button', { name: 'Stay' }).click();
    expect(await typed(page)).toBe(RIGHT);

    const second = await page.context().newPage();
    const [dialog] = await Promise.all([page.waitForEvent('dialog'), page.close({ runBeforeUnload: true })]);
    expect(dialog.type()).toBe('beforeunload');
    await Promise.all([page.waitForEvent('close'), dialog.accept()]);

    await signInByLink(second, client);
    await go(second, route(id));
    await second.getByText(/unsaved correction/).waitFor();
    await expectGood(second, 'recording-draft');
    await exactly(second, 'Continue').click();
    expect(await typed(second)).toBe(RIGHT);
    await exactly(second, 'Save').click();
    await second.getByText('Correction saved.').waitFor();
    expect(await served(id)).toBe(RIGHT);
    const drafts = await second.evaluate(async () => JSON.stringify(await indexedDB.databases()));
    expect(drafts).toContain('vnotes-drafts');
    await second.reload();
    expect(await second.getByText(/unsaved correction/).count()).toBe(0);
  });

  it('keeps a correction that was discarded by mistake, also when it is left then', async () => {
    const id = await add();
    const page = await open(id);
    await exactly(page, 'Correct').click();
    await editor(page).fill(RIGHT);
    await exactly(page, 'Cancel').click();
    await exactly(page, 'Undo').click();
    expect(await typed(page)).toBe(RIGHT);
    await page.getByRole('link', { name: 'Recordings' }).first().click();
    await exactly(page, 'Keep draft and leave').click();
    await go(page, route(id));
    await exactly(page, 'Continue').click();
    expect(await typed(page)).toBe(RIGHT);
    await exactly(page, 'Cancel').click();
    await page.getByRole('link', { name: 'Recordings' }).first().click();
    await go(page, route(id));
    await exactly(page, 'Correct').waitFor();
    expect(await page.getByText(/unsaved correction/).count()).toBe(0);
  });

  it('asks before the browser goes back, and goes back when the changes are dropped', async () => {
    const id = await add();
    const page = await open(id);
    await go(page, '/usage');
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    await go(page, route(id));
    await exactly(page, 'Correct').click();
    await editor(page).fill(RIGHT);
    const question = page.getByRole('dialog', { name: 'Leave without saving?' });

    for (const answer of ['Stay', 'Discard and leave']) {
      await page.goBack();
      await question.waitFor();
      expect(new URL(page.url()).hash).toBe(`#${route(id)}`);
      expect(await typed(page)).toBe(RIGHT);
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
    await exactly(page, 'Correct').click();
    await editor(page).fill(RIGHT);
    await client.put(`/v1/recordings/${id}/transcription`, { text: theirs }).expect(200);
    await exactly(page, 'Save').click();
    await page.getByRole('heading', { name: 'Someone else has changed this transcript' }).waitFor();
    await expectGood(page, 'recording-conflict');
    expect(await served(id)).toBe(theirs);
    await exactly(page, 'Keep editing mine').click();
    expect(await typed(page)).toBe(RIGHT);
    await exactly(page, 'Save').click();
    await page.getByText('Correction saved.').waitFor();
    expect(await served(id)).toBe(RIGHT);
  });

  it('of two tabs stays in both: what one saves takes nothing from the other', async () => {
    const id = await add();
    const [first, theirs] = [await open(id), TEXT.replace('two', 'three')];
    const second = await first.context().newPage();
    await signInByLink(second, client);
    await go(second, route(id));
    for (const [page, text] of [
      [first, theirs],
      [second, RIGHT],
    ] as const) {
      await exactly(page, 'Correct').click();
      await editor(page).fill(text);
    }
    await exactly(first, 'Save').click();
    await first.getByText('Correction saved.').waitFor();
    await exactly(second, 'Save').click();
    await second.getByRole('heading', { name: 'Someone else has changed this transcript' }).waitFor();
    const marked = await second.locator('.conflict-side').first().locator('mark').allTextContents();
    expect(marked.join('|')).toContain('two');
    expect(marked.join('|')).not.toContain('delivery');

    await second.getByRole('link', { name: 'Recordings' }).first().click();
    const question = second.getByRole('dialog', { name: 'Leave without saving?' });
    await question.getByRole('button', { name: 'Keep draft and leave' }).click();
    await second.getByRole('heading', { name: 'Recordings', level: 1 }).waitFor();
    await go(second, route(id));
    await exactly(second, 'Continue').click();
    expect(await typed(second)).toBe(RIGHT);
    expect(await served(id)).toBe(theirs);

    await exactly(second, 'Cancel').click();
    await second.getByRole('button', { name: 'Sign out' }).first().click();
    await second.getByRole('button', { name: 'Sign in' }).waitFor();
    // It is opened after a deletion under way, and made anew only when it is gone.
    const isGone = () =>
      second.evaluate(
        () =>
          new Promise<boolean>((resolve) => {
            const request = indexedDB.open('vnotes-drafts');
            let isNew = false;
            request.addEventListener('upgradeneeded', () => (isNew = true));
            request.addEventListener('success', () => {
              // A deletion that begins after this waits for it.
              request.result.close();
              resolve(isNew);
            });
          }),
      );
    await eventually(isGone);
  });

  it('is transcribed again, says what goes on, and lists the versions', async () => {
    const id = await add();
    const page = await open(id);
    await page.locator('summary[aria-label="More"]').click();
    await exactly(page, 'Transcribe again…').click();
    const dialog = page.getByRole('dialog', { name: 'Transcribe again' });
    await dialog.getByRole('combobox', { name: 'Language' }).fill('klingon');
    await dialog.getByRole('button', { name: 'Transcribe again' }).click();
    await dialog.getByRole('alert').first().waitFor();
    await expectGood(page, 'recording-again');
    await dialog.getByRole('combobox', { name: 'Language' }).fill('english');
    await dialog.getByRole('textbox', { name: 'Names and words to expect' }).fill('quarter\nboxes');
    await dialog.getByRole('button', { name: 'Transcribe again' }).click();
    await page.getByText('Transcribing again.').waitFor();
    await fail(service, id, 'The engine crashed 5 times on this recording.');
    await page.getByText('The engine crashed on this recording 5 times.').waitFor();
    await expectGood(page, 'recording-again-failed');
    await client.post(`/v1/recordings/${id}/transcribe`, {}).expect(202);
    await transcribe(service, id, { text: RIGHT, words: evenly(RIGHT), model: 'newer' });
    await page.locator('.word', { hasText: 'past' }).waitFor();
    await page.locator('summary', { hasText: 'Versions' }).click();
    await page.getByText('test · newer · English').waitFor();
    await page.getByText('test · test-model · English').waitFor();
    await expectGood(page, 'recording-versions');
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
      await expectGood(page, 'recording-menu');
      await exactly(page, 'Delete').click();
      await page.getByText('Deleting “north gate.wav”.').waitFor();
    };
    await remove();
    await exactly(page, 'Undo').click();
    await client.get(`/v1/recordings/${id}`).expect(200);
    expect(await upload(client)).toBeTruthy();
  });
});
