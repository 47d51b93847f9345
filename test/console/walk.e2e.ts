import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { SPEECH } from '../../src/testing/speech.js';
import { button, go, hearUnprocessed, useConsole } from '../support/browser/browser.js';
import { screenshot } from '../support/browser/views.js';
import { invitationFor, PASSWORD, signIn } from '../support/http/session-client.js';
import { reportMeasurement } from '../support/service/measurements.js';

/** What a person does at the console, counted, and how long each step takes. */
class Walk {
  /** Clicks, fields and words that are typed, and keys. */
  actions = 0;
  private readonly begin = performance.now();

  constructor(readonly page: Page) {}

  async click(target: Locator): Promise<void> {
    this.actions += 1;
    await target.click();
  }

  async doubleClick(target: Locator): Promise<void> {
    this.actions += 1;
    await target.dblclick();
  }

  async fill(target: Locator, text: string): Promise<void> {
    this.actions += 1;
    await target.fill(text);
  }

  /** Into what has the focus. */
  async type(text: string): Promise<void> {
    this.actions += 1;
    await this.page.keyboard.type(text);
  }

  async step(name: string, work: () => Promise<void>): Promise<void> {
    const [actions, begin] = [this.actions, performance.now()];
    await work();
    const seconds = ((performance.now() - begin) / 1000).toFixed(1).padStart(5);
    reportMeasurement(`${name.padEnd(44)} ${String(this.actions - actions).padStart(2)} actions ${seconds} s`);
    await screenshot(this.page, `walk-${name.replaceAll(' ', '-')}`, { fullPage: false });
  }

  get seconds(): string {
    return ((performance.now() - this.begin) / 1000).toFixed(1);
  }
}

describe('a person who has never seen the console', () => {
  const tested = useConsole({}, { microphone: join(SPEECH, 'go-forward-ten-meters.wav') });

  it('comes from an invitation to a note that is recorded, found, corrected and shared', async () => {
    const { service, account } = tested;
    const host = await signIn(service, account.accountId, { email: `olga-${randomUUID()}@example.com`, name: 'Olga' });
    const invitation = { email: `ben-${randomUUID()}@example.com`, role: 'editor' } as const;
    const token = await invitationFor(host, invitation);
    const page = await tested.open({ signedInAs: null, liveWords: true, arrange: hearUnprocessed });
    await go(page, `#invitation=${token}`);
    const walk = new Walk(page);
    const list = page.getByRole('heading', { level: 1, name: 'Recordings' });
    const exactly = (name: string) => page.getByRole('button', { name, exact: true });
    const link = (name: string) => page.getByRole('link', { name, exact: true });
    const words = page.locator('.transcript-text .word');

    await walk.step('joins with the invitation', async () => {
      await walk.fill(page.getByLabel('Your name'), 'Ben');
      await walk.fill(page.getByLabel('Password'), PASSWORD);
      await walk.click(button(page, 'Join'));
      await list.waitFor();
    });

    await walk.step('records what is said', async () => {
      await walk.click(link('Record').first());
      await walk.click(exactly('Record'));
      await page.getByRole('group', { name: 'Words so far' }).getByText('forward').first().waitFor({ timeout: 60_000 });
    });
    await walk.step('finishes and reads it', async () => {
      await walk.click(exactly('Finish and send'));
      await words.getByText('ten', { exact: true }).first().waitFor({ timeout: 60_000 });
    });
    const noteUrl = new URL(page.url()).hash;

    await walk.step('finds it', async () => {
      await walk.click(link('Recordings').first());
      await list.waitFor();
      await walk.fill(page.getByRole('searchbox'), 'meters');
      await walk.click(
        page
          .locator('main li')
          .filter({ has: page.locator('mark') })
          .getByRole('link')
          .first(),
      );
      await words.getByText('ten', { exact: true }).first().waitFor();
    });
    expect(new URL(page.url()).hash.split('?')[0]).toBe(noteUrl);

    await walk.step('corrects a word', async () => {
      await walk.doubleClick(words.getByText('ten', { exact: true }).first());
      await walk.type('twelve');
      await walk.click(exactly('Save'));
      await words.getByText('twelve', { exact: true }).waitFor();
    });

    await walk.step('shares it', async () => {
      await walk.click(exactly('Share…'));
      await walk.click(exactly('Create link'));
      await walk.click(exactly('Copy the link'));
    });
    const shared = await page.evaluate(() => navigator.clipboard.readText());

    const other = await tested.open({ signedInAs: null });
    await walk.step('somebody else reads it', async () => {
      await other.goto(shared);
      await other.locator('.word').getByText('twelve', { exact: true }).waitFor();
    });
    expect(await other.locator('.transcript-text').textContent()).toMatch(/go forward twelve meters/);
    reportMeasurement(`${walk.actions} actions, ${walk.seconds} s`);
    expect(walk.actions).toBeLessThanOrEqual(15);
  });
});
