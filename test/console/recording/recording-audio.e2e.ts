import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { speech } from '../../../src/testing/speech.js';
import { addNote, evenly } from '../../support/state/spoken-notes.js';
import { transcribe } from '../../support/state/recording-states.js';
import { useConsole } from '../../support/browser/browser.js';

const route = (id: string) => `/recordings/${id}`;
const play = (page: Page) => page.getByRole('button', { name: 'Play', exact: true }).click();
const position = async (page: Page) => Number(await page.getByRole('slider', { name: 'Position' }).inputValue());

/** Waits until it has played to the second. */
async function playedTo(page: Page, second: number): Promise<void> {
  const reached = (wanted: number) => Number(document.querySelector<HTMLInputElement>('.seek-range')?.value) >= wanted;
  await page.waitForFunction(reached, second, { timeout: 15_000 });
}

describe('the audio of a recording', () => {
  const tested = useConsole();
  const { service } = tested;
  const text = Array.from({ length: 240 }, (_, n) => `word${n}`).join(' ');
  let client: ApiClient;

  beforeAll(async () => {
    client = await service.account();
  });

  const note = () => addNote(service, client, { text, words: evenly(text), seconds: 90 });

  it('is asked for at the first play, and gets a new URL when the first has ended', async () => {
    const id = await addNote(service, client, { text, words: evenly(text), seconds: 7200 });
    const page = await tested.open({ signedInAs: client, route: route(id) });
    const asked: string[] = [];
    page.on('request', (request) => request.url().endsWith('/audio-url') && asked.push(request.url()));
    let first: string | null = null;
    let isEnded = false;
    await page.route('**/signed-audio**', (call) => {
      first ??= call.request().url();
      const isRefused = isEnded && call.request().url() === first;
      return isRefused ? call.fulfill({ status: 401, body: '' }) : call.continue();
    });
    await page.locator('.word').first().waitFor();
    expect(asked).toEqual([]);
    await play(page);
    await playedTo(page, 2);
    isEnded = true;
    // So far from what was loaded that the player has to ask for it.
    await page.getByRole('slider', { name: 'Position' }).fill('6000');
    await playedTo(page, 6002);
    expect(asked).toHaveLength(2);
    expect(await position(page)).toBeLessThan(6030);
    await page.getByRole('button', { name: 'Pause' }).waitFor();
  });

  it('that is gone, or whose storage is away, is told beside the text', async () => {
    const id = await note();
    const page = await tested.open({ signedInAs: client, route: route(id) });
    await page.locator('.word').first().waitFor();
    let isAway = true;
    const away = { status: 503, body: '{}', headers: { 'content-type': 'application/json' } };
    await page.route('**/signed-audio**', (call) => (isAway ? call.fulfill(away) : call.continue()));
    await play(page);
    await page.getByRole('alert').getByText('The audio storage is not available right now.').waitFor();
    isAway = false;
    const [{ s3_key }] = [(await client.get(`/v1/recordings/${id}`)).body as { s3_key: string }];
    await rm(join(service.environment.variables.STORAGE_DIR as string, 'objects', s3_key));
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('alert').getByText('The audio is no longer stored.').waitFor();
    expect(await page.locator('.word').count()).toBeGreaterThan(10);
  });

  it('of a browser, which does not say how long it is, can be played from anywhere', async () => {
    const { body } = await client.upload(await speech('ss-0880.mediarecorder.webm'), {}, 'note.webm').expect(201);
    const words = evenly('he was not an ill disposed young man');
    await transcribe(service, body.id, { text: 'he was not an ill disposed young man', words, durationMs: 2990 });
    const page = await tested.open({ signedInAs: client, route: route(body.id) });
    await page.locator('.word', { hasText: 'young' }).click();
    await playedTo(page, 2.2);
    expect(await position(page)).toBeLessThan(4);
  });
});
