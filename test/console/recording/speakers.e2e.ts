import type { Page } from 'playwright-core';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { go, hold, isLive, useConsole } from '../../support/browser/browser.js';
import { expectGood, expectGoodEverywhere } from '../../support/browser/views.js';
import { addNote, evenly } from '../../support/state/spoken-notes.js';

const exactly = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const nameField = (page: Page) => page.getByRole('textbox', { name: /^Name of / });
const turns = (page: Page) => page.locator('.block-speaker').allTextContents();

const said = (text: string, speaker: string, from: number) =>
  evenly(text).map((word) => ({ ...word, speaker, start: word.start + from, end: word.end + from }));

/** Who speaks: A, B, A, C. */
const WORDS = [
  ...said('good morning this is the north gate', 'A', 0),
  ...said('what can I do for you', 'B', 6),
  ...said('two of the boxes are damaged', 'A', 10),
  ...said('I will send somebody', 'C', 14),
];
const TEXT = WORDS.map(({ word }) => word).join(' ');

describe('the speakers of a recording', () => {
  const tested = useConsole();
  let client: ApiClient;

  beforeEach(() => {
    client = tested.account;
  });

  const add = () => addNote(tested.service, client, { filename: 'north gate.wav', text: TEXT, words: WORDS });
  const names = async (id: string) => {
    const { body } = await client.get(`/v1/recordings/${id}/speakers`).expect(200);
    return (body as { speakers: { name: string | null }[] }).speakers.map(({ name }) => name);
  };
  const give = (id: string, given: Record<string, string>) =>
    client
      .put(`/v1/recordings/${id}/speakers`, {
        speakers: Object.entries(given).map(([speaker, name]) => ({ speaker, name })),
      })
      .expect(200);

  async function open(id: string, options: Parameters<typeof tested.open>[0] = {}): Promise<Page> {
    const page = await tested.open({ route: `/recordings/${id}`, ...options });
    await page.locator('.word').first().waitFor();
    return page;
  }

  it('are turns with names and colours, and are renamed where they stand', async () => {
    const id = await add();
    const page = await open(id);
    expect(await turns(page)).toEqual(['Speaker A', 'Speaker B', 'Speaker A', 'Speaker C']);
    await page.getByText(/^13 words · 0:0\d$/).waitFor();
    await exactly(page, 'Rename Speaker A').click();
    await page.keyboard.type('Nobody');
    await page.keyboard.press('Escape');
    await exactly(page, 'Rename Speaker A').click();
    expect(await nameField(page).inputValue()).toBe('');
    await page.keyboard.type('Ada <b>');
    await page.keyboard.press('Enter');
    await eventually(async () => (await turns(page)).join() === 'Ada <b>,Speaker B,Ada <b>,Speaker C');
    expect(await names(id)).toEqual(['Ada <b>', null, null]);
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Rename Ada <b>');
    const colours = await page
      .locator('.block-speaker')
      .evaluateAll((all) => all.map((element) => getComputedStyle(element).color));
    expect([colours[0] === colours[2], new Set(colours).size]).toEqual([true, 3]);
    await expectGoodEverywhere(page, 'recording-speakers');
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('.block-speaker').first().isVisible()).toBe(true);
    expect(await page.locator('.speakers').isVisible()).toBe(false);
  });

  it('are merged, which is undone, and told apart again', async () => {
    const id = await add();
    const page = await open(id, { width: 360, theme: 'dark' });
    const more = async (person: string, action: string) => {
      await page.getByLabel(`More for ${person}`, { exact: true }).click();
      await page.getByRole('button', { name: action, exact: true }).click();
    };
    await more('Speaker C', 'Merge with Speaker B');
    await eventually(
      async () => (await turns(page)).length === 4 && (await names(id)).join() === ',Speaker B,Speaker B',
    );
    await exactly(page, 'Undo').click();
    await eventually(async () => (await names(id)).join() === ',,');
    expect(await turns(page)).toEqual(['Speaker A', 'Speaker B', 'Speaker A', 'Speaker C']);

    await give(id, { A: 'Ada' });
    // What somebody else has named is learned with the conflict.
    await more('Speaker B', 'Merge with Speaker A');
    await page.getByText('Someone else has changed the names. Check them, then try again.').waitFor();
    await more('Speaker B', 'Merge with Ada');
    await eventually(async () => (await turns(page)).join() === 'Ada,Speaker C');
    expect(await names(id)).toEqual(['Ada', 'Ada', null]);
    await more('Ada', 'Separate');
    await eventually(async () => (await turns(page)).length === 4);
    expect(await names(id)).toEqual(['Ada', null, null]);
  });

  it('keep what one types when somebody else has given names meanwhile, and say so', async () => {
    const id = await add();
    const page = await open(id);
    await exactly(page, 'Rename Speaker B').click();
    await page.keyboard.type('Ben');
    await give(id, { A: 'Ada' });
    await page.keyboard.press('Enter');
    await page.getByText('Someone else has changed the names. Check them, then try again.').waitFor();
    expect(await nameField(page).inputValue()).toBe('Ben');
    expect(await turns(page)).toContain('Ada');
    await expectGood(page, 'recording-speakers-conflict');
    await nameField(page).press('Enter');
    await eventually(async () => (await names(id)).join() === 'Ada,Ben,');
  });

  it('are named while the text is corrected, and the other way round, without a conflict', async () => {
    const id = await add();
    const page = await open(id);
    const letThrough = await hold(page, '**/speakers');
    await exactly(page, 'Rename Speaker A').click();
    await page.keyboard.type('Ada');
    await page.keyboard.press('Enter');
    await exactly(page, 'Correct').click();
    const editor = page.getByRole('textbox', { name: 'Corrected text' });
    await editor.evaluate((text) => {
      const paragraph = [...text.querySelectorAll('p')].find(({ textContent }) => textContent?.includes('boxes'));
      const node = paragraph?.firstChild as Text;
      const at = node.data.indexOf('boxes');
      document.getSelection()?.setBaseAndExtent(node, at, node, at + 'boxes'.length);
    });
    await page.keyboard.type('crates');
    letThrough();
    await eventually(async () => (await names(id)).join() === 'Ada,,');
    await page.keyboard.press('Control+Enter');
    await page.getByText('Correction saved.').waitFor();
    await page.locator('.word', { hasText: 'crates' }).waitFor();
    await exactly(page, 'Rename Speaker C').click();
    await page.keyboard.type('Cleo');
    await page.keyboard.press('Enter');
    await eventually(async () => (await turns(page)).join() === 'Ada,Speaker B,Ada,Cleo');
    expect(await names(id)).toEqual(['Ada', null, 'Cleo']);
  });

  it('are played alone: what others say is skipped, and the same button stops it', async () => {
    const id = await add();
    const page = await open(id);
    await page.evaluate(() => {
      const heard: string[] = ((window as { heard?: string[] }).heard = []);
      new MutationObserver((changes) => {
        for (const { target } of changes) {
          const { classList, textContent } = target as HTMLElement;
          if (classList.contains('is-spoken') && heard.at(-1) !== textContent) heard.push(textContent ?? '');
        }
      }).observe(document.querySelector('.transcript-text') as HTMLElement, {
        subtree: true,
        attributeFilter: ['class'],
      });
    });
    const heard = () => page.evaluate(() => (window as { heard?: string[] }).heard ?? []);
    await exactly(page, 'Play Speaker A alone').click();
    await exactly(page, 'Stop playing Speaker A alone').waitFor();
    await eventually(async () => (await heard()).includes('boxes'));
    // Its last stretch ends before the fourth turn begins.
    await exactly(page, 'Play Speaker A alone').waitFor();
    await exactly(page, 'Play').waitFor();
    const others = new Set(WORDS.filter(({ speaker }) => speaker !== 'A').map(({ word }) => word));
    expect((await heard()).filter((word) => others.has(word))).toEqual([]);

    await exactly(page, 'Play Speaker B alone').click();
    await eventually(async () => (await heard()).includes('what'));
    await exactly(page, 'Stop playing Speaker B alone').click();
    await exactly(page, 'Play').waitFor();
  });

  it('are only shown to who may not change them, and missing for a reason that is told', async () => {
    const id = await add();
    await give(id, { A: 'Ada' });
    const reader = await tested.service.key(client, ['recordings:read', 'account:read']);
    const page = await open(id, { signedInAs: reader });
    await eventually(async () => (await turns(page)).includes('Ada'));
    expect(await page.getByRole('button', { name: /^(Rename|More for)/ }).count()).toBe(0);
    await tested.service.database.query(
      `UPDATE recordings SET features = features || '{"speakers":null,"speakers_problem":"No model for speakers."}' WHERE id = $1`,
      [id],
    );
    await go(page, '/');
    await go(page, `/recordings/${id}`);
    await page.getByText('Speakers are not told apart. No model for speakers.').waitFor();
    await isLive(page);
  });
});
