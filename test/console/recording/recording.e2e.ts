import type { Page } from 'playwright-core';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { wav } from '../../support/audio/audio-bytes.js';
import { fail, transcribe, upload } from '../../support/state/recording-states.js';
import { addNote, evenly } from '../../support/state/spoken-notes.js';
import { go, hold, isLive, useConsole } from '../../support/browser/browser.js';
import { expectGood, expectGoodEverywhere, screenshot } from '../../support/browser/views.js';

const route = (id: string) => `/recordings/${id}`;
const playButton = (page: Page) => page.getByRole('button', { name: 'Play', exact: true });

/** Remembers which words are lit: a word may be over before a test has looked. */
async function watchSpoken(page: Page): Promise<void> {
  await page.evaluate(() => {
    const spoken: number[] = ((window as { spoken?: number[] }).spoken = []);
    const text = document.querySelector('.transcript-text') as HTMLElement;
    new MutationObserver((changes) => {
      for (const { target } of changes) {
        const { classList, dataset } = target as HTMLElement;
        const word = Number(dataset.n);
        if (classList.contains('is-spoken') && spoken.at(-1) !== word) spoken.push(word);
      }
    }).observe(text, { subtree: true, attributeFilter: ['class'] });
  });
}

/** Waits until the word with this number, or a later one, is lit. @returns the numbers of those that were, in order */
async function spokenUntil(page: Page, last: number): Promise<number[]> {
  const isReached = (word: number) => ((window as { spoken?: number[] }).spoken?.at(-1) ?? -1) >= word;
  await page.waitForFunction(isReached, last);
  return await page.evaluate(() => (window as { spoken?: number[] }).spoken ?? []);
}

describe('a recording of speech, from the upload to the word that is spoken', () => {
  const tested = useConsole({});

  it('shows its words when they are there, and plays them', async () => {
    const client = tested.account;
    const { body } = await client.upload('jfk.wav', { custom_tags: '{"ticket":"T-1042"}' }).expect(201);
    const page = await tested.open({ route: route(body.id) });
    await page.getByRole('heading', { name: 'jfk.wav' }).waitFor();

    await page.locator('.word').nth(8).waitFor({ timeout: 180_000 });
    await page.locator('.waveform').waitFor();
    await watchSpoken(page);
    await page.locator('.word').nth(1).click();
    const spoken = await spokenUntil(page, 5);
    // Before the audio ends: then the key would play it again.
    await page.keyboard.press(' ');
    await playButton(page).waitFor();
    await expectGood(page, 'recording-played');
    // A browser that draws too few frames leaves out words, and lights those that it does light in their order.
    expect(spoken[0]).toBe(1);
    expect(spoken).toEqual([...new Set(spoken)].toSorted((a, b) => a - b));
  });
});

const TEXT =
  'Good morning, this is Anna from the north gate. The delivery came at a quarter past eight, and two of the boxes are damaged.\nPlease call the carrier before noon, because the driver leaves the gate at one. The order number is 4471.';

describe('the page of a recording', () => {
  const tested = useConsole();
  const { service } = tested;
  let client: ApiClient;
  let note: string;

  beforeAll(async () => {
    client = await service.account();
    note = await addNote(service, client, {
      filename: 'delivery at the north gate.wav',
      text: TEXT,
      words: evenly(TEXT, (n) => (n % 9 === 4 ? 0.41 : 0.94)),
      tags: { ticket: 'T-1042', site: 'north' },
    });
  });

  const open = (id: string, options: Parameters<typeof tested.open>[0] = {}) =>
    tested.open({ signedInAs: client, route: route(id), ...options });

  it('is accessible at every width, in every theme', async () => {
    const page = await open(note);
    await page.locator('.word', { hasText: 'delivery' }).click();
    await page.locator('.word.is-spoken').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('gate');
    await page.getByText(/^[12] of 2$/).waitFor();
    await expectGoodEverywhere(page, 'recording-text');
  });

  it('prints as a document: black on white in every theme, without controls', async () => {
    const page = await open(note, { theme: 'dark' });
    await page.locator('.word').first().waitFor();
    await page.getByRole('button', { name: 'Dark' }).click();
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    await screenshot(page, 'recording-print');
    const printed = await page.evaluate(() => {
      const all = [...document.body.querySelectorAll<HTMLElement>('*')].filter((element) => element.checkVisibility());
      const isControl = (element: Element) =>
        element.matches('button:not(.block-time), input, select, textarea, nav, audio, summary, [role=slider]');
      const texts = all.filter(({ childNodes }) =>
        [...childNodes].some(({ nodeType, data }: Node & { data?: string }) => nodeType === 3 && data?.trim()),
      );
      const grounds = [document.documentElement, ...all].map((element) => getComputedStyle(element).backgroundColor);
      return {
        controls: all.filter(isControl).map(({ outerHTML }) => outerHTML.slice(0, 80)),
        colours: [...new Set(texts.map((element) => getComputedStyle(element).color))],
        grounds: [...new Set(grounds)].filter((colour) => colour !== 'rgba(0, 0, 0, 0)'),
        underlined: all.filter((element) => getComputedStyle(element).textDecorationLine !== 'none').length,
        left: Math.min(...texts.map((element) => element.getBoundingClientRect().left)),
        text: document.querySelector<HTMLElement>('.transcript-text')?.innerText.replace(/\s+/g, ' '),
      };
    });
    expect(printed.controls).toEqual([]);
    expect(printed.colours).toEqual(['rgb(0, 0, 0)']);
    expect(printed.grounds).toEqual(['rgb(255, 255, 255)']);
    expect(printed).toMatchObject({ underlined: 0, left: 0 });
    expect(printed.text).toContain('this is Anna from the north gate.');
    expect(await page.getByRole('heading', { name: 'delivery at the north gate' }).isVisible()).toBe(true);
  });

  it('is renamed, and its tags are changed, on its page', async () => {
    const id = await addNote(service, client, { filename: 'memo.wav', text: TEXT, tags: { ticket: 'T-1' } });
    const page = await open(id);
    await page.getByRole('heading', { name: 'memo.wav' }).waitFor();
    const edit = async () => {
      await page.getByLabel('More', { exact: true }).click();
      await page.getByRole('button', { name: 'Title and tags…' }).click();
    };
    await edit();
    const dialog = page.getByRole('dialog', { name: 'Title and tags' });
    await dialog.getByLabel('Title').fill('Damaged boxes');
    await dialog.getByLabel('Tags').fill('no key\nsite=north');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('may only contain').waitFor();
    await dialog.getByLabel('Tags').fill('ticket=T-2\nsite=north=1');
    await expectGood(page, 'recording-title');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Damaged boxes' }).waitFor();
    await dialog.waitFor({ state: 'hidden' });
    const { body } = await client.get(`/v1/recordings/${id}?include=title`).expect(200);
    expect([body.title, body.custom_tags]).toEqual(['Damaged boxes', { ticket: 'T-2', site: 'north=1' }]);
  });

  it('does everything by keyboard alone', async () => {
    const page = await open(note);
    await page.locator('.word').first().waitFor();
    await page.keyboard.press(' ');
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await page.keyboard.press(' ');
    await playButton(page).waitFor();

    const position = page.getByRole('slider', { name: 'Position' });
    const seconds = async () => Number(await position.inputValue());
    const before = await seconds();
    await page.keyboard.press('ArrowRight');
    expect(await seconds()).toBeCloseTo(before + 5, 0);
    await page.keyboard.press('ArrowLeft');
    expect(await seconds()).toBeCloseTo(before, 0);

    const speed = page.getByRole('combobox', { name: 'Speed' });
    await page.keyboard.press('.');
    expect(await speed.inputValue()).toBe('1.25');
    for (let n = 0; n < 9; n += 1) await page.keyboard.press(',');
    expect(await speed.inputValue()).toBe('0.5');
    for (let n = 0; n < 12; n += 1) await page.keyboard.press('.');
    expect(await speed.inputValue()).toBe('3');

    await page.keyboard.press('u');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Anna');
    await page.getByRole('tooltip').getByText('Unsure: 41% confidence').waitFor();
    await page.keyboard.press('ArrowRight');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('from');
    await expectGood(page, 'recording-word-focused');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await page.locator('.word.is-spoken').waitFor();
    await page.keyboard.press(' ');

    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Search this transcript').waitFor();
    await expectGood(page, 'recording-keys');
  });

  it('finds words inside, counts them and goes from one to the next', async () => {
    const page = await open(note);
    await page.getByRole('button', { name: 'Search this transcript' }).click();
    const search = page.getByRole('searchbox', { name: 'Search this transcript' });
    await search.fill('GATE');
    await page.getByText('1 of 2').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('2 of 2').waitFor();
    await page.getByRole('button', { name: 'Next match' }).click();
    await page.getByText('1 of 2').waitFor();
    await search.press('Shift+Enter');
    await page.getByText('2 of 2').waitFor();
    expect(await page.locator('.word.is-hit').allTextContents()).toEqual(['gate.', 'gate']);
    await search.fill('nowhere');
    await page.getByText('No matches').waitFor();
    await search.press('Escape');
    await search.waitFor({ state: 'detached' });
    expect(await page.locator('.word.is-hit').count()).toBe(0);
  });

  it('shows markup as text, and text from right to left', async () => {
    const text = '<b>bold</b> <img src=x onerror=alert(1)> said she.\nשלום עולם זה מבחן קצר';
    const words = evenly(text);
    const filename = '<i>name & co.wav';
    const id = await addNote(service, client, { filename, text, words, tags: { who: '<u>me</u>' } });
    const page = await open(id, { width: 360, theme: 'dark' });
    await page.locator('.word').first().waitFor();
    expect(await page.locator('.block-text').allTextContents()).toEqual(text.split('\n'));
    expect(await page.locator('#main :is(b, i, u, img)').count()).toBe(0);
    const direction = (index: number) =>
      page
        .locator('.block-text')
        .nth(index)
        .evaluate((element) => getComputedStyle(element).direction);
    expect([await direction(0), await direction(1)]).toEqual(['ltr', 'rtl']);
    await expectGood(page, 'recording-markup-rtl');
  });

  it('shows the sides of a call as turns', async () => {
    const said = (words: string, channel: number, from: number) =>
      evenly(words).map((word) => ({ ...word, channel, start: word.start + from, end: word.end + from }));
    const words = [
      ...said('hello this is the north gate', 0, 0),
      ...said('good morning what can I do for you', 1, 3),
      ...said('the delivery is late again', 0, 7),
    ];
    const id = await addNote(service, client, { text: words.map(({ word }) => word).join(' '), words });
    const page = await open(id);
    await page.locator('.word').first().waitFor();
    expect(await page.locator('.block-speaker').allTextContents()).toEqual(['Channel 1', 'Channel 2', 'Channel 1']);
    await expectGood(page, 'recording-channels');
  });

  it('has a plain seek bar without a waveform, and no times where the engine gives none', async () => {
    const id = await addNote(service, client, { text: 'Words without times.', words: [], seconds: 5, peaks: null });
    const page = await open(id);
    await page.locator('.word').first().waitFor();
    expect(await page.locator('.waveform').count()).toBe(0);
    await page.getByRole('slider', { name: 'Position' }).press('ArrowRight');
    expect(await page.locator('.block-time, .word.is-spoken').count()).toBe(0);
    await expectGood(page, 'recording-plain');
  });

  describe('where there is no text', () => {
    it('shows that it is being transcribed, and the text when it is there', async () => {
      const id = await upload(client);
      const page = await open(id);
      await page.getByRole('heading', { name: 'Transcribing…' }).waitFor();
      await isLive(page);
      await expectGood(page, 'recording-processing');
      await transcribe(service, id, { text: 'there it is' });
      await page.locator('.word', { hasText: 'there' }).waitFor({ timeout: 10_000 });
    });

    it('shows how far a long one is, what it has heard, and when it will be done', async () => {
      const { body } = await client.upload(wav({ sampleRate: 4000, data: Buffer.alloc(8000 * 90) })).expect(201);
      const id = body.id as string;
      const add = (index: number, text: string) =>
        service.database.query(
          `INSERT INTO transcription_partials (recording_id, index, start_ms, end_ms, text) VALUES ($1, $2, $3, $4, $5)`,
          [id, index, index * 20_000, (index + 1) * 20_000, text],
        );
      await add(0, 'This is the north gate.');
      const page = await open(id, { arrange: (opened) => opened.clock.install() });
      await page.getByText('0:20 of 1:30 is transcribed.').waitFor();
      await page.getByText('This is the north gate. …').waitFor();
      await add(1, 'Two boxes are damaged.');
      await page.clock.fastForward(30_000);
      await page.getByText(/0:40 of 1:30 is transcribed\. Done in about /).waitFor();
      expect(await page.getByRole('progressbar', { name: 'Transcribing' }).getAttribute('value')).toMatch(/^0\.44/);
      await page.getByText('This is the north gate. Two boxes are damaged. …').waitFor();
      await expectGood(page, 'recording-progress');
    });

    it('shows a text that came before the events did', async () => {
      const id = await upload(client);
      let letThrough = (): void => undefined;
      const arrange = async (opened: Page) => (letThrough = await hold(opened, '**/v1/events/stream*'));
      const page = await open(id, { arrange });
      await page.getByRole('heading', { name: 'Transcribing…' }).waitFor();
      await transcribe(service, id, { text: 'there it was' });
      letThrough();
      await page.locator('.word', { hasText: 'there' }).waitFor({ timeout: 8000 });
    });

    it('says why in words of people, and tries again', async () => {
      const id = await upload(client);
      await fail(service, id, 'Language not supported: german. Supported: english.');
      const page = await open(id, { width: 360 });
      await page.getByText('The engine does not support German.').waitFor();
      await expectGood(page, 'recording-failed');
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('heading', { name: 'Transcribing…' }).waitFor();
    });

    it('says that nobody speaks, that it was deleted, and that there is none', async () => {
      const id = await upload(client);
      await transcribe(service, id, { text: '', noSpeech: true });
      const page = await open(id);
      await page.getByRole('heading', { name: 'No speech in this recording' }).waitFor();
      await isLive(page);
      await expectGood(page, 'recording-no-speech');
      await client.delete(`/v1/recordings/${id}`).expect(204);
      await page.getByRole('heading', { name: 'This recording was deleted' }).waitFor({ timeout: 10_000 });
      await go(page, route('01a203f8-0000-7000-8000-000000000000'));
      await page.getByRole('heading', { name: 'Recording not found' }).waitFor();
      await expectGood(page, 'recording-missing');
    });

    it('offers to try again when the service fails', async () => {
      const page = await open(note);
      await page.locator('.word').first().waitFor();
      let isDown = true;
      const down = { status: 500, json: { error: { message: 'no', type: 'InternalError', code: 5001, details: {} } } };
      await page.route('**/v1/recordings/*', (call) => (isDown ? call.fulfill(down) : call.continue()));
      await go(page, '/usage');
      await page.getByRole('heading', { name: 'Usage' }).first().waitFor();
      await go(page, route(note));
      await page.getByRole('heading', { name: 'Something went wrong in the service' }).waitFor({ timeout: 20_000 });
      isDown = false;
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.locator('.word').first().waitFor();
    });
  });
});
