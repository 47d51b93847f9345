import { setTimeout as delay } from 'node:timers/promises';
import type { Page, Request } from 'playwright-core';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { reportMeasurement } from '../support/service/measurements.js';
import { addNote, evenly } from '../support/state/spoken-notes.js';
import { isLive, useConsole } from '../support/browser/browser.js';

const NOTES = 3;
const SURPLUS_MS = 450;

/** Requests of the page that take a token of the account: audio is asked for by URLs that are signed. */
class Requests {
  private readonly seen: string[] = [];
  private readonly refused: string[] = [];

  constructor(page: Page) {
    const nameOf = (request: Request): string | null => {
      const { pathname } = new URL(request.url());
      const takesToken =
        pathname.startsWith('/v1/') && !pathname.endsWith('/signed-audio') && !pathname.endsWith('/exchange');
      return takesToken ? `${request.method()} ${pathname.replace(/[0-9a-f-]{36}/, '{id}')}` : null;
    };
    page.on('request', (request) => {
      const name = nameOf(request);
      if (name) this.seen.push(name);
    });
    page.on('response', (response) => {
      if (response.status() === 429) this.refused.push(nameOf(response.request()) ?? response.url());
    });
  }

  /** Those since the last call, once there are as many as expected, and what comes beyond them. */
  async take(expected: number): Promise<string[]> {
    await eventually(() => this.seen.length >= expected, 10_000).catch(() => {});
    // More of them would come soon: the list of recordings waits for 400 ms before it asks again.
    await delay(SURPLUS_MS);
    return this.seen.splice(0);
  }

  get refusals(): readonly string[] {
    return this.refused;
  }
}

describe('the requests of the console', () => {
  const tested = useConsole();
  const { service } = tested;

  /** An account of the plan free, whose bucket is full. */
  async function freeAccount(): Promise<ApiClient> {
    const client = tested.account;
    for (let i = 1; i <= NOTES; i++) {
      const text = `This is note number ${i}.`;
      await addNote(service, client, { filename: `note-${i}.wav`, text, words: evenly(text) });
    }
    await client.post('/v1/webhooks', { url: 'https://hooks.example.com/', events: ['recording.failed'] }).expect(201);
    await service.database.query(`UPDATE accounts SET plan = 'free' WHERE id = $1`, [client.accountId]);
    await eventually(async () => (await client.get('/v1/account')).headers['x-ratelimit-limit'] === '10');
    return client;
  }

  const follow = async (page: Page, name: string): Promise<void> => {
    await page.getByRole('link', { name, exact: true }).first().click();
    await page.getByRole('heading', { name, exact: true, level: 1 }).waitFor();
  };
  const openNote = async (page: Page, number: number): Promise<void> => {
    await page.getByRole('link', { name: new RegExp(`note-${number}.wav`) }).click();
    await page.locator('.word').nth(3).waitFor();
    await page.locator('.waveform').waitFor();
  };

  it('let a person of the plan free play three notes and open each page at once, without a 429', async () => {
    const client = await freeAccount();
    let requests = null as unknown as Requests;
    const arrange = async (opened: Page): Promise<void> => void (requests = new Requests(opened));
    const page = await tested.open({ signedInAs: client, arrange });
    const figures: string[] = [];
    const step = async (name: string, expected: number, work: () => Promise<unknown>): Promise<number> => {
      await work();
      const taken = await requests.take(expected);
      figures.push(`${name}: ${taken.length}${taken.length > 0 ? ` (${taken.join(', ')})` : ''}`);
      return taken.length;
    };

    const list = () => page.getByRole('link', { name: /note-1\.wav/ }).waitFor();
    // The account, the events and the list.
    expect(await step('open', 3, () => Promise.all([isLive(page), list()]))).toBe(3);
    for (let i = NOTES; i > 0; i--) {
      expect(await step(`note ${i}`, 1, () => openNote(page, i))).toBe(1);
      expect(await step('play', 1, () => page.getByRole('button', { name: 'Play', exact: true }).click())).toBe(1);
      // The first page was asked for before events could tell that it is still right.
      const most = i === NOTES ? 1 : 0;
      expect(await step('back to the list', most, () => follow(page, 'Recordings'))).toBeLessThanOrEqual(most);
    }
    const pages = { Webhooks: 1, Keys: 1, Errors: 1, Record: 0, Usage: 5 };
    for (const [name, expected] of Object.entries(pages)) {
      expect(await step(name, expected, () => follow(page, name))).toBe(expected);
    }
    reportMeasurement(figures.join('\n'));
    expect(requests.refusals).toEqual([]);
  });

  it('bring a list that has changed while a note was open', async () => {
    const client = await freeAccount();
    const page = await tested.open({ signedInAs: client });
    await isLive(page);
    await openNote(page, 1);
    await addNote(service, client, { filename: 'meanwhile.wav', text: 'Something new.' });
    // The events tell it, within three seconds.
    await eventually(async () => {
      await follow(page, 'Recordings');
      const isThere = await page.getByRole('link', { name: /meanwhile\.wav/ }).isVisible();
      if (!isThere) await openNote(page, 1);
      return isThere;
    });
    await page.getByRole('listitem').filter({ hasText: 'meanwhile.wav' }).getByText('Something new.').waitFor();
  });
});
