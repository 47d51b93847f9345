import { readFile } from 'node:fs/promises';
import type { Download, Page, Route } from 'playwright-core';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { seedNotes } from '../support/state/many-notes.js';
import { fail, transcribe, upload } from '../support/state/recording-states.js';
import { button, heading, useConsole } from '../support/browser/browser.js';
import { expectGoodState, screenshot } from '../support/browser/views.js';

const CHANGES = '**/v1/recordings/*';

describe('all recordings that match in the console', () => {
  const tested = useConsole();
  const { service } = tested;
  let account: ApiClient;

  beforeEach(() => {
    ({ account } = tested);
  });

  /** As many on the left as on the right. */
  const seed = (count: number) =>
    seedNotes(
      service,
      account,
      Array.from({ length: count }, (_, i) => ({ tags: { side: i % 2 === 0 ? 'left' : 'right', kind: 'call' } })),
    );
  const open = (route: string) => tested.open({ route });
  const total = async (filter: string) =>
    (await account.get(`/v1/recordings?${filter}`).expect(200)).body.total as number;

  /** What was selected of the list before it would be selected no more. */
  const isListed = (page: Page, count: number) =>
    page.getByText(`${count} recordings`, { exact: true }).first().waitFor();

  async function selectAll(page: Page, count: number): Promise<void> {
    await isListed(page, count);
    await page.getByLabel('Select all on this page').check();
    await page.getByText('All 50 on this page are selected.').waitFor();
    await button(page, `Select all ${count} recordings`).click();
    await page.getByText(`${count} selected, also on other pages.`).waitFor();
  }

  async function tag(page: Page, lines: string, removed = ''): Promise<void> {
    await button(page, 'Tag').click();
    await page.getByRole('textbox', { name: 'Tags', exact: true }).fill(lines);
    await page.getByLabel('Remove tags').fill(removed);
    await page.getByRole('dialog').getByRole('button', { name: 'Tag', exact: true }).click();
  }

  it('are selected, not only those of the page, and tagged', async () => {
    await seed(104);
    const page = await open('/?tag=side%3Dleft');
    await selectAll(page, 52);
    await expectGoodState(page, 'recordings-all-selected');
    await button(page, 'Next page').click();
    await page.getByText('51–52 of 52').waitFor();
    await page.getByLabel('Select note-1.webm').uncheck();
    await page.getByText('51 selected').first().waitFor();
    await tag(page, 'ticket=T-9\nkind=visit', 'side, other');
    await page.getByText('Changed the tags of 51 recordings.').waitFor();
    expect(await total('tag.ticket=T-9&tag.kind=visit')).toBe(51);
    expect(await total('tag.side=left&tag.kind=call')).toBe(1);
    expect(await total('tag.side=right&tag.kind=call')).toBe(52);
    await button(page, 'Go to the first page').click();
    await page.getByText('1 recording', { exact: true }).first().waitFor();
    expect(await page.getByText(/selected/).count()).toBe(0);
  });

  it('are counted when something stops or fails, and can be gone on with', async () => {
    await seed(20);
    const page = await open('/?tag=side%3Dleft');
    let letThrough = (): void => undefined;
    const isOpen = new Promise<void>((resolve) => (letThrough = resolve));
    let changes = 0;
    await onChange(page, async (route) => {
      changes += 1;
      // Four at once: two go through, the others wait until it is stopped.
      if (changes > 2) await isOpen;
      return changes === 4 ? refuse(route, 409, ON_HOLD) : route.continue();
    });
    await isListed(page, 10);
    await page.getByLabel('Select all on this page').check();
    await tag(page, 'ticket=T-9');
    await page.getByText('Tagging 2 of 10').waitFor();
    await expectGoodState(page, 'recordings-tagging');
    await button(page, 'Stop tagging').click();
    letThrough();
    const stopped = page.getByText(/^Stopped: \d+ of 10 recordings tagged\./);
    await stopped.waitFor();
    const told = Number(/\d+/.exec(await stopped.innerText())?.[0]);
    expect(await total('tag.ticket=T-9')).toBe(told);
    expect(told).toBeLessThan(10);

    await page.unroute(CHANGES);
    const answers: ((route: Route) => Promise<void>)[] = [
      (route) => refuse(route, 429, { type: 'RateLimitError', message: 'Too many.' }, { 'retry-after': '1' }),
      (route) => refuse(route, 409, ON_HOLD),
    ];
    await onChange(page, (route) => answers.shift()?.(route) ?? route.continue());
    await button(page, 'Continue').click();
    const failure = `1 of ${10 - told} recordings could not be tagged. Not possible right now: It is on hold.`;
    await page.getByText(failure).waitFor();
    expect(await total('tag.ticket=T-9')).toBe(9);
    await button(page, 'Try again').click();
    await page.getByText('Changed the tags of the recording.').waitFor();
    expect(await total('tag.ticket=T-9')).toBe(10);
  });

  it('are transcribed again, once the service takes what is asked for', async () => {
    const ids = await seed(3);
    const page = await open('/');
    await page.getByLabel('Select all on this page').check();
    await button(page, 'Transcribe again').click();
    const submit = page.getByRole('dialog').getByRole('button', { name: 'Transcribe again' });
    await page.getByLabel('Engine').fill('unknown');
    await submit.click();
    await page.getByText(/^engine must be/).waitFor();
    await expectGoodState(page, 'recordings-again');
    await page.getByLabel('Engine').fill('');
    await page.getByRole('combobox', { name: 'Language' }).fill('german');
    await submit.click();
    await page.getByText('Transcribing 3 recordings again.').waitFor();
    const [queued] = await service.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM recordings WHERE id = ANY ($1) AND rerun = 'requested' AND language = 'german'`,
      [ids],
    );
    expect(queued?.count).toBe(3);
  });

  it('are not tagged with what the service would refuse', async () => {
    await seed(1);
    const page = await open('/');
    await page.getByLabel('Select all on this page').check();
    await tag(page, 'wrong');
    await page.getByText('Write a tag as key=value, not “wrong”.').waitFor();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'kind call' }).click();
    await dialog.getByRole('button', { name: 'Tag', exact: true }).click();
    await page.getByText('Write a tag as key=value, not “wrong”.').waitFor();
    await page.getByRole('textbox', { name: 'Tags', exact: true }).fill('übel=1');
    await dialog.getByRole('button', { name: 'Tag', exact: true }).click();
    await page.getByText(/^übel: a key has/).waitFor();
    await expectGoodState(page, 'recordings-tag');
  });

  it('are exported as an archive, without those that have no transcript', async () => {
    for (const text of ['The gate is open.', 'وصلت الشحنة', 'The door is closed.'])
      await transcribe(service, await upload(account), { text });
    await fail(service, await upload(account));
    const page = await open('/');
    await page.getByLabel('Select all on this page').check();
    await button(page, 'Export').click();
    await page.getByText('Without a transcript, and left out: 1.').waitFor();
    await expectGoodState(page, 'recordings-export');
    const submit = page.getByRole('dialog').getByRole('button', { name: 'Export' });
    const downloaded = page.waitForEvent('download');
    await submit.click();
    const archive = await downloaded;
    expect(archive.suggestedFilename()).toMatch(/^recordings-\d{4}-\d\d-\d\d\.zip$/);
    await page.getByText('Exported 3 recordings.').waitFor();
    expect(filesOf(await bytesOf(archive))).toEqual({
      'note.txt': 'The door is closed.',
      'note (2).txt': 'وصلت الشحنة',
      'note (3).txt': 'The gate is open.',
    });

    await page.getByLabel('Select note.wav').nth(1).check();
    await button(page, 'Export').click();
    await page.getByLabel('Format').selectOption('Subtitles (.srt)');
    const single = page.waitForEvent('download');
    await submit.click();
    expect((await single).suggestedFilename()).toBe('note.srt');
    expect((await bytesOf(await single)).toString()).toContain('The door is closed.');
  });

  it('are deleted after a question, with an undo', async () => {
    await seed(52);
    const page = await open('/');
    await selectAll(page, 52);
    await button(page, 'Delete').click();
    await heading(page, 'Delete 52 recordings?').waitFor();
    await screenshot(page, 'recordings-delete-all');
    await button(page, 'Cancel').click();
    expect(await total('')).toBe(52);
    await button(page, 'Delete').click();
    await button(page, 'Delete 52 recordings').click();
    await page.getByText('Deleting 52 recordings.').waitFor();
    await heading(page, 'Deleting recordings…').waitFor();
    await button(page, 'Undo').click();
    await page.getByText('52 recordings', { exact: true }).first().waitFor();
    expect(await total('')).toBe(52);

    await selectAll(page, 52);
    await button(page, 'Delete').click();
    await button(page, 'Delete 52 recordings').click();
    await button(page, 'Dismiss').click();
    await heading(page, 'Your first voice note').waitFor();
    await eventually(async () => (await total('')) === 0);
  });
});

const ON_HOLD = { type: 'ConflictError', message: 'It is on hold.' };

/** Answers the changes of recordings. */
const onChange = (page: Page, answer: (route: Route) => Promise<void>) =>
  page.route(CHANGES, (route) => (route.request().method() === 'PATCH' ? answer(route) : route.continue()));

const refuse = (
  route: Route,
  status: number,
  error: { type: string; message: string },
  headers: Record<string, string> = {},
): Promise<void> => route.fulfill({ status, headers, json: { error: { code: 1, details: {}, ...error } } });

const bytesOf = async (download: Download): Promise<Buffer> => await readFile(await download.path());

/** Those of an archive whose files are stored as they are, by name. */
function filesOf(archive: Buffer): Record<string, string> {
  const files: Record<string, string> = {};
  let at = 0;
  while (archive.readUInt32LE(at) === 0x04034b50) {
    const [size, nameLength] = [archive.readUInt32LE(at + 18), archive.readUInt16LE(at + 26)];
    const name = archive.toString('utf8', at + 30, at + 30 + nameLength);
    files[name] = archive.toString('utf8', at + 30 + nameLength, at + 30 + nameLength + size);
    at += 30 + nameLength + size;
  }
  return files;
}
