import type { Page } from 'playwright-core';
import request from 'supertest';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useConsole } from '../../support/browser/browser.js';
import { expectGoodEverywhere } from '../../support/browser/views.js';
import { addNote, evenly } from '../../support/state/spoken-notes.js';

const TEXT = 'Good morning, this is the north gate. Two of the boxes are damaged.';
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

describe('a shared recording', () => {
  const tested = useConsole();
  let client: ApiClient;
  let id: string;

  beforeEach(async () => {
    client = tested.account;
    id = await addNote(tested.service, client, { filename: 'north gate.wav', text: TEXT, words: evenly(TEXT) });
  });

  /** By somebody without an account. */
  async function openLink(link: string): Promise<Page> {
    const page = await tested.open({ signedInAs: null, expectedProblems: [/status of 40[14]/] });
    await page.goto('about:blank');
    await page.goto(link);
    return page;
  }

  it('is shared in the console, read and heard by somebody without an account, and ended', async () => {
    const page = await tested.open({ route: `/recordings/${id}` });
    await button(page, 'Share…').click();
    await page.getByRole('checkbox', { name: /^With the audio/ }).check();
    await expectGoodEverywhere(page, 'recording-share');
    await button(page, 'Create link').click();
    const link = (await page.locator('.shown-once-value').textContent()) as string;
    expect(link).toMatch(/\/shared#vnsh_[\w-]{43}$/);

    const other = await openLink(`${link}&t=2`);
    await other.locator('.word').first().waitFor();
    expect(await other.locator('h1').textContent()).toBe('north gate.wav');
    expect((await other.locator('.transcript-text').textContent())?.replaceAll(/\s+/g, ' ')).toContain(
      'Two of the boxes',
    );
    await eventually(async () => (await other.locator('.player-time').textContent()) === '0:02');
    await button(other, 'Play').click();
    await button(other, 'Pause').waitFor();
    await expectGoodEverywhere(other, 'shared');

    await page.keyboard.press('Escape');
    await button(page, 'Share…').click();
    await page.getByText(/^Opened once · ends /).waitFor();
    await button(page, 'End').click();
    await page.getByText('The link shows nothing any more.').waitFor();
    await other.reload();
    await other.getByText('This link shows nothing any more').waitFor();
  });

  it('asks for its password', async () => {
    const { body } = await client.post(`/v1/recordings/${id}/shares`, { password: 'correct horse' }).expect(201);
    const page = await openLink(`${tested.service.url}${body.url as string}`);
    const password = page.getByLabel('Password');
    await password.fill('wrong horse');
    await button(page, 'Open').click();
    await page.getByText('This is not the password.').waitFor();
    await password.fill('correct horse');
    await button(page, 'Open').click();
    await page.locator('.transcript-text').waitFor();
    // Without the audio there is no player.
    expect(await page.getByLabel('Player').count()).toBe(0);
  });

  it('is a page that is not indexed, tells nobody its link, and may not record', async () => {
    const { headers } = await request(tested.service.url).get('/shared').expect(200);
    expect(headers).toMatchObject({ 'x-robots-tag': 'noindex, nofollow', 'referrer-policy': 'no-referrer' });
    expect(headers['content-security-policy']).toContain("default-src 'none'");
  });
});
