import type { Page } from 'playwright-core';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { seedNotes } from '../support/state/many-notes.js';
import { fail, transcribe, upload } from '../support/state/recording-states.js';
import { button, go, heading, hold, isLive, signInByLink, signInLink, useConsole } from '../support/browser/browser.js';
import { expectGoodEverywhere, expectGoodState, tabTo } from '../support/browser/views.js';

const MARKUP = '<b onclick="x">bold</b> & <script>boom</script>';

describe('the list of recordings in the console', () => {
  const tested = useConsole();
  const { service } = tested;
  let account: ApiClient;

  beforeEach(() => {
    ({ account } = tested);
  });

  const open = (route = '/', options: Parameters<typeof tested.open>[0] = {}) => tested.open({ route, ...options });
  const seed = (count: number) =>
    seedNotes(
      service,
      account,
      Array.from({ length: count }, () => ({})),
    );
  const row = (page: Page, name: string | RegExp) => page.getByRole('listitem').filter({ hasText: name });
  const rows = (page: Page) => page.getByRole('checkbox', { name: /^Select (?!all)/ });
  const total = async (client = account) => (await client.get('/v1/recordings').expect(200)).body.total as number;

  it('shows what happens by itself, without asking again and again', async () => {
    const page = await open();
    await heading(page, 'Your first voice note').waitFor();
    await expectGoodEverywhere(page, 'recordings-first');
    await isLive(page);
    const requests: string[] = [];
    page.on('request', (request) => requests.push(new URL(request.url()).pathname));

    const id = await upload(account, { custom_tags: JSON.stringify({ ticket: 'T-1' }) });
    await row(page, 'note.wav').getByText('Processing').waitFor();
    await transcribe(service, id, { text: 'The gate is open.' });
    await row(page, 'note.wav').getByText('The gate is open.').waitFor();
    expect(await row(page, 'note.wav').getByText('Processing').count()).toBe(0);
    expect(requests.filter((path) => path === '/v1/recordings')).toHaveLength(1);
    expect(requests.filter((path) => path === '/v1/events/stream')).toHaveLength(0);

    const silent = await upload(account);
    await row(page, 'note.wav').getByText('Processing').waitFor();
    const lists = requests.filter((path) => path === '/v1/recordings').length;
    await transcribe(service, silent, { text: '', noSpeech: true });
    await row(page, 'note.wav').getByText('No speech').waitFor();
    expect(requests.filter((path) => path === '/v1/recordings')).toHaveLength(lists);
    await fail(service, await upload(account));
    await row(page, 'note.wav').getByText('Failed').waitFor();
    await account.delete(`/v1/recordings/${id}`).expect(204);
    await page.getByText('2 recordings', { exact: true }).first().waitFor();
    expect(requests.length).toBeLessThan(12);
  });

  it('shows what happened before events came, and while there was no network', async () => {
    const first = await upload(account);
    let letThrough = (): void => undefined;
    const arrange = async (opened: Page) => (letThrough = await hold(opened, '**/v1/events/stream*'));
    const page = await open('/', { arrange, expectedProblems: [/ERR_INTERNET_DISCONNECTED/] });
    await row(page, 'note.wav').getByText('Processing').waitFor();
    await transcribe(service, first, { text: 'The gate is open.' });
    letThrough();
    await row(page, 'note.wav').getByText('The gate is open.').waitFor();

    await page.context().setOffline(true);
    await page.getByText('Offline', { exact: true }).filter({ visible: true }).waitFor();
    await fail(service, await upload(account));
    await page.context().setOffline(false);
    await row(page, 'note.wav').getByText('Failed').waitFor();
  });

  it('finds words in 1,000 notes, marks them, and shows markup and scripts from right to left as text', async () => {
    const notes = Array.from({ length: 1000 }, (_, i) => ({ text: `filler number ${i} about nothing` }));
    await seedNotes(service, account, [
      ...notes,
      { text: `The Délivery ${MARKUP} is late`, filename: `${MARKUP}.webm`, tags: { [MARKUP.slice(0, 20)]: MARKUP } },
      { text: 'وصلت الشحنة إلى البوابة الشمالية', filename: 'مذكرة.webm', tags: { customer: 'شركة' } },
      { text: 'nothing to deliver', filename: 'long '.repeat(40), durationMs: 7_322_000, userId: 'user-<4711>' },
    ]);
    const page = await open();
    await page.getByText('1,003 recordings').first().waitFor();
    expect(await rows(page).count()).toBe(50);
    await row(page, '<b onclick="x">bold</b> & <script>boom</script>.webm').waitFor();
    await row(page, '2:02:02').getByText('2 hours 2 minutes').waitFor({ state: 'attached' });
    await expectGoodEverywhere(page, 'recordings-many');

    await page.keyboard.press('/');
    await page.keyboard.type('delivery -filler');
    await page.getByText('1 result', { exact: true }).first().waitFor();
    expect(await page.locator('mark').allInnerTexts()).toEqual(['Délivery']);
    await row(page, `The Délivery ${MARKUP} is late`).waitFor();
    expect(await page.locator('main script, main b[onclick]').count()).toBe(0);
    await expectGoodEverywhere(page, 'recordings-search');

    await page.getByRole('searchbox').fill('الشحنة');
    await page.locator('mark', { hasText: 'الشحنة' }).waitFor();
    const direction = await page.locator('.row-snippet').evaluate((element) => getComputedStyle(element).direction);
    expect(direction).toBe('rtl');
    await page.getByRole('searchbox').fill('nothing');
    await page.getByText('1,001 results').first().waitFor();
    await button(page, 'Best match').click();
    await page.waitForURL(/order=rank/);
    await row(page, /long long/).waitFor();
  });

  it('keeps search, filters and page in the address: for a reload, a link and the button back', async () => {
    await seedNotes(
      service,
      account,
      Array.from({ length: 120 }, (_, i) => ({
        status: i % 2 === 0 ? 'transcribed' : 'failed',
        tags: { side: i % 4 < 2 ? 'left=1' : 'right' },
        userId: i < 60 ? 'anna' : 'ben',
      })),
    );
    const page = await open();
    await button(page, 'Next page').click();
    await page.getByText('51–100 of 120').waitFor();
    await button(page, 'Failed').click();
    await page.getByText('60 recordings').first().waitFor();
    await button(page, 'Filter').click();
    await page.getByRole('textbox', { name: 'Tags' }).fill('side=left=1\nwrong');
    await page.getByLabel('From').fill('2026-01-02');
    await page.getByLabel('To').fill('2026-01-01');
    await button(page, 'Apply').click();
    await page.getByText('The end date is before the start date.').waitFor();
    await page.getByLabel('To').fill('');
    await button(page, 'Apply').click();
    await page.getByText('Write a tag as key=value, not “wrong”.').waitFor();
    await expectGoodEverywhere(page, 'recordings-filter');
    await page.getByRole('textbox', { name: 'Tags' }).fill('side=left=1');
    await page.getByLabel('End user').fill('anna');
    await button(page, 'Apply').click();
    await page.getByText('15 recordings').first().waitFor();

    const address = new URL(page.url());
    expect(address.search).toBe('');
    const again = await open(address.hash.slice(1));
    await again.getByText('15 recordings').first().waitFor();
    await button(page, 'Remove filter End user anna').click();
    await page.getByText('30 recordings').first().waitFor();
    await page.goBack();
    await page.getByText('15 recordings').first().waitFor();
    await page.goBack();
    await page.getByText('60 recordings').first().waitFor();
    await page.goBack();
    await page.getByText('51–100 of 120').waitFor();
  });

  it('selects with the mouse, with shift and with the keyboard, and deletes many when the time for an undo is over', async () => {
    await seed(12);
    const page = await open();
    await rows(page).nth(1).click();
    await rows(page)
      .nth(4)
      .click({ modifiers: ['Shift'] });
    await page.getByText('4 selected').first().waitFor();
    await expectGoodEverywhere(page, 'recordings-selected');
    await button(page, 'Delete').click();
    await page.getByText('8 recordings').first().waitFor();
    await page.getByText('Deleting 4 recordings.').waitFor();
    // The newest is the first: the second to the fifth are gone.
    await page.waitForFunction(() => document.activeElement?.textContent === 'note-7.webm');
    await button(page, 'Undo').click();
    await page.getByText('12 recordings').first().waitFor();
    expect(await total()).toBe(12);

    await page.getByLabel('Select all on this page').focus();
    await page.keyboard.press('Space');
    await page.getByText('12 selected').first().waitFor();
    await tabTo(page, 'button', 'Delete');
    await page.keyboard.press('Enter');
    await heading(page, 'Your first voice note').waitFor();
    await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
    await button(page, 'Dismiss').click();
    await eventually(async () => (await total()) === 0);
  });

  it('deletes nothing when the page is closed before the time for an undo is over', async () => {
    await seed(2);
    const page = await open();
    await rows(page).first().click();
    await button(page, 'Delete').click();
    await page.getByText(/^Deleting “note-2.webm”/).waitFor();
    await page.close({ runBeforeUnload: true });
    expect(await total()).toBe(2);
  });

  it('goes on with a deletion after a reload, and can still undo it', async () => {
    await seed(2);
    const page = await open();
    await rows(page).first().click();
    await button(page, 'Delete').click();
    await page.getByText(/^Deleting “note-2.webm”/).waitFor();
    const again = async () => {
      await page.reload();
      await signInByLink(page, account);
      await page.getByText(/^Deleting “note-2.webm”/).waitFor();
      await page.getByText('1 recording', { exact: true }).first().waitFor();
    };
    await again();
    await button(page, 'Undo').click();
    await page.getByText('2 recordings').first().waitFor();
    await rows(page).first().click();
    await button(page, 'Delete').click();
    await page.getByText(/^Deleting “note-2.webm”/).waitFor();
    await again();
    await button(page, 'Dismiss').click();
    await eventually(async () => (await total()) === 1);
    await page.reload();
    await signInByLink(page, account);
    await rows(page).first().waitFor();
    expect(await page.getByText(/^Deleting/).count()).toBe(0);
  });

  it('deletes at once when the person signs out', async () => {
    await seed(2);
    const page = await open();
    await page.getByLabel('Select all on this page').check();
    await button(page, 'Delete').click();
    await page.getByText('Deleting 2 recordings.').waitFor();
    await button(page, 'Sign out').click();
    await heading(page, 'Sign in').waitFor();
    await eventually(async () => (await total()) === 0);
  });

  it('says which deletions failed, and offers to try again', async () => {
    await seed(5);
    const page = await open();
    let refusals = 2;
    await page.route('**/v1/recordings/*', (route) => {
      refusals -= 1;
      return refusals >= 0 ? route.fulfill({ status: 403, json: SUSPENDED }) : route.continue();
    });
    await page.getByLabel('Select all on this page').check();
    await button(page, 'Delete').click();
    await button(page, 'Dismiss').click();
    await page.getByText(/^Could not delete 2 of 5 recordings\. The account is suspended/).waitFor();
    await page.getByText('2 recordings').first().waitFor();
    await expectGoodState(page, 'recordings-partial');
    await button(page, 'Try again').click();
    await button(page, 'Dismiss').click();
    await eventually(async () => (await total()) === 0);
  });

  it('retries those that failed', async () => {
    const ids = [await upload(account), await upload(account), await upload(account)];
    await Promise.all(ids.slice(1).map((id) => fail(service, id)));
    await transcribe(service, ids[0] as string);
    const page = await open();
    await page.getByLabel('Select all on this page').check();
    await button(page, 'Retry 2 failed').click();
    await page.getByText('Transcribing 2 recordings again.').waitFor();
    await page.getByText('Processing').nth(2).waitFor();
  });

  it('has a state for what is loading, for nothing found, and for what went wrong', async () => {
    await seed(1);
    const page = await open('/?q=unheard');
    await heading(page, 'No matching recordings').waitFor();
    await expectGoodState(page, 'recordings-nothing');
    await button(page, 'Show all recordings').click();
    await row(page, 'note-1.webm').waitFor();

    const slow = await open(undefined, { signedInAs: null });
    const release = await hold(slow, '**/v1/recordings?*');
    const { hash } = new URL(await signInLink(account));
    await go(slow, hash);
    await slow.getByText('Loading recordings…').waitFor({ state: 'attached' });
    await expectGoodState(slow, 'recordings-loading');
    release();
    await row(slow, 'note-1.webm').waitFor();

    const narrow = await service.key(account, ['account:read']);
    const refused = await open(undefined, { signedInAs: narrow });
    await refused.getByText('It needs the scope recordings:read.').waitFor();
    await expectGoodState(refused, 'recordings-refused');
  });

  it('shows how each text begins, and filters by a tag or an end user that is clicked', async () => {
    await seedNotes(service, account, [
      { text: 'One more thing', tags: { ticket: 'T-2', kind: 'call' }, userId: 'ben' },
      { text: 'The gate is open. '.repeat(40), tags: { ticket: 'T-1', kind: 'call' }, userId: 'anna' },
      { text: 'Nobody is there', tags: { ticket: 'T-1' } },
      { status: 'failed' },
    ]);
    const page = await open();
    await row(page, 'note-4.webm').getByText('Failed').waitFor();
    await row(page, 'note-2.webm')
      .getByText(/^The gate is open\. .*…$/)
      .waitFor();
    expect(await page.getByText('Transcribed', { exact: true }).count()).toBe(1);
    await expectGoodEverywhere(page, 'recordings-rows');
    await row(page, 'note-3.webm').getByRole('button', { name: 'ticket T-1' }).click();
    await page.getByText('2 recordings').first().waitFor();
    await row(page, 'note-2.webm').getByRole('button', { name: 'kind call' }).click();
    await page.getByText('1 recording', { exact: true }).first().waitFor();
    await button(page, 'Remove filter ticket: T-1').click();
    await page.getByText('2 recordings').first().waitFor();
    await row(page, 'note-1.webm').getByRole('button', { name: 'End user ben' }).click();
    await page.waitForURL(/user=ben/);
    await row(page, 'One more thing').waitFor();
    await page.getByText('1 recording', { exact: true }).first().waitFor();
  });

  it('suggests tags that occur in the filter, one value of each key', async () => {
    await seedNotes(service, account, [
      { text: 'One more thing', tags: { ticket: 'T-2', kind: 'call' }, userId: 'ben' },
      { text: 'The gate is open', tags: { ticket: 'T-1', kind: 'call' } },
    ]);
    const page = await open();
    await row(page, 'note-2.webm').waitFor();
    await button(page, 'Filter').click();
    const dialog = page.getByRole('dialog', { name: 'Filter' });
    const tags = dialog.getByRole('textbox', { name: 'Tags' });
    await dialog.getByRole('button', { name: 'kind call' }).click();
    await dialog.getByRole('button', { name: 'ticket T-1' }).click();
    expect(await tags.inputValue()).toBe('kind=call\nticket=T-1');
    await dialog.getByRole('button', { name: 'ticket T-2' }).click();
    expect(await tags.inputValue()).toBe('kind=call\nticket=T-2');
    await dialog.getByRole('button', { name: 'ticket T-1' }).waitFor();
    await expectGoodState(page, 'recordings-suggestions');
    expect(await dialog.locator('option').evaluateAll((all) => all.map((one) => one.getAttribute('value')))).toEqual([
      'ben',
    ]);
    await button(page, 'Apply').click();
    await button(page, 'Remove filter ticket: T-2').waitFor();
    await page.getByText('1 recording', { exact: true }).first().waitFor();
    await row(page, 'One more thing').waitFor();
  });

  it('goes by the days of the person, also where the clocks change', async () => {
    const ids = await seedNotes(
      service,
      account,
      ['before', 'first', 'last', 'after'].map((filename) => ({ filename })),
    );
    await service.database.query(
      `UPDATE recordings SET created_at = n.at FROM unnest($1::uuid[], $2::timestamptz[]) AS n (id, at)
       WHERE recordings.id = n.id`,
      [ids, ['2026-10-24T21:59:59.999Z', '2026-10-24T22:00Z', '2026-10-25T22:59:59.999Z', '2026-10-25T23:00Z']],
    );
    const page = await open('/', { timezoneId: 'Europe/Berlin' });
    await row(page, 'before').waitFor();
    await button(page, 'Filter').click();
    await page.getByLabel('From').fill('2026-10-25');
    await page.getByLabel('To').fill('2026-10-25');
    await button(page, 'Apply').click();
    await page.getByText('2 recordings', { exact: true }).first().waitFor();
    expect(await page.locator('.row-title').allInnerTexts()).toEqual(['last', 'first']);
    expect(await row(page, 'first').locator('time').getAttribute('title')).toContain('25 Oct 2026, 00:00');
    await button(page, 'Remove filter On 25 Oct 2026').click();
    await row(page, 'after').waitFor();

    // There clocks go forward at midnight.
    const beginnings: (string | null)[] = [];
    const arrange = async (opened: Page) =>
      opened.on('request', (request) => {
        const { pathname, searchParams } = new URL(request.url());
        const range = [searchParams.get('created_from'), searchParams.get('created_before')];
        if (pathname === '/v1/recordings' && range.some((limit) => limit !== null)) beginnings.push(...range);
      });
    const beirut = await open('/?from=2026-03-29&to=2026-03-29', { timezoneId: 'Asia/Beirut', arrange });
    await heading(beirut, 'No matching recordings').waitFor();
    expect(beginnings).toEqual(['2026-03-28T22:00:00.000Z', '2026-03-29T21:00:00.000Z']);
  });

  it('suggests days, and shows its filters beside the button', async () => {
    await seed(1);
    const page = await open();
    await button(page, 'Filter').click();
    const dialog = page.getByRole('dialog', { name: 'Filter' });
    const [from, to] = [dialog.getByLabel('From'), dialog.getByLabel('To')];
    await dialog.getByRole('button', { name: 'Today' }).click();
    expect(await from.inputValue()).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    expect(await to.inputValue()).toBe(await from.inputValue());
    await dialog.getByRole('button', { name: 'This month' }).click();
    await dialog.getByRole('button', { name: 'This month', pressed: true }).waitFor();
    expect(await from.inputValue()).toMatch(/-01$/);
    await expectGoodEverywhere(page, 'recordings-days');
    // Below the button, and ending with it.
    const [box, opener] = [await dialog.boundingBox(), await button(page, 'Filter').boundingBox()];
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeCloseTo((opener?.x ?? 0) + (opener?.width ?? 0), 0);
    expect((box?.y ?? 0) - (opener?.y ?? 0) - (opener?.height ?? 0)).toBeLessThan(20);
    await page.mouse.click(5, 5);
    await dialog.waitFor({ state: 'detached' });
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain('Filter');
  });

  it('keeps what is shown until there is something else, and says nothing of it meanwhile', async () => {
    await seedNotes(service, account, [{ text: 'The gate is open' }, { text: 'The door is closed' }]);
    const page = await open();
    await row(page, 'The gate is open').waitFor();
    const held = await hold(page, '**/v1/recordings?*');
    await page.getByRole('searchbox').fill('gat');
    await page.locator('[aria-busy=true]').waitFor();
    expect(await page.getByText('2 recordings', { exact: true }).count()).toBeGreaterThan(0);
    expect(await rows(page).count()).toBe(2);
    expect(await page.locator('mark').count()).toBe(0);
    held();
    await page.locator('mark', { hasText: 'gate' }).waitFor();
    await page.getByText('1 result', { exact: true }).first().waitFor();

    await page.getByRole('searchbox').fill('nowhere');
    await heading(page, 'No matching recordings').waitFor();
    await page.unrouteAll();
    const heldAgain = await hold(page, '**/v1/recordings?*');
    const asked = page.waitForRequest('**/v1/recordings?*');
    await page.getByRole('searchbox').fill('');
    await asked;
    await heading(page, 'No matching recordings').waitFor();
    expect(await heading(page, 'Your first voice note').count()).toBe(0);
    heldAgain();
    await row(page, 'The gate is open').waitFor();
  });

  it('opens a note at what was found in it', async () => {
    const before = 'It is translated. '.repeat(120);
    const id = await upload(account);
    await transcribe(service, id, { text: `${before}The delivery is late again. ${before}` });
    const page = await open('/?q=late');
    await page.locator('mark', { hasText: 'late' }).waitFor();
    await page.getByRole('link', { name: 'note.wav' }).click();
    await page.getByText('121 of', { exact: false }).waitFor();
    expect(await page.getByRole('searchbox').inputValue()).toBe('late');
    const word = page.locator('.word', { hasText: /^late$/ });
    await page.waitForFunction(
      (element) => {
        const { top, bottom } = (element as Element).getBoundingClientRect();
        return top > 0 && bottom < innerHeight;
      },
      await word.elementHandle(),
    );
    await expectGoodState(page, 'recording-at-hit');
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('H1');
    await page.goBack();
    await page.locator('mark', { hasText: 'late' }).waitFor();
  });

  it('is gone through by j and k, selected by x and opened by Enter', async () => {
    await seed(3);
    const page = await open();
    await row(page, 'note-3.webm').waitFor();
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    const press = async (keys: string) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    await press('xj');
    expect(await focused()).toBe('note-3.webm');
    await press('jjjk');
    expect(await focused()).toBe('note-2.webm');
    await press('x');
    await page.getByText('1 selected').first().waitFor();
    await press('jX');
    await page.getByText('2 selected').first().waitFor();
    await press('?');
    for (const label of ['Next recording', 'Select the recording', 'Open the recording']) {
      await page.getByRole('dialog').getByText(label).waitFor();
    }
    await page.keyboard.press('Escape');
    await press('kk');
    await page.keyboard.press('Enter');
    await heading(page, 'note-3.webm').waitFor();
  });

  it('opens a note by the keyboard', async () => {
    await seedNotes(service, account, [{ filename: 'first.webm' }]);
    const page = await open();
    await row(page, 'first.webm').waitFor();
    await tabTo(page, 'link', 'first.webm');
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/recordings\/[0-9a-f-]{36}$/);
  });

  it('is where it was left on the way back from a note', async () => {
    await seed(60);
    const page = await open('/?status=transcribed');
    await page.getByRole('link', { name: 'note-20.webm' }).click();
    await page.waitForURL(/recordings/);
    await heading(page, 'note-20.webm').waitFor();
    expect(await page.evaluate(() => scrollY)).toBe(0);
    await page.goBack();
    await page.getByRole('link', { name: 'note-20.webm' }).waitFor();
    await page.waitForFunction(() => scrollY > 500);
    await button(page, 'Transcribed').and(page.locator('[aria-pressed=true]')).waitFor();

    // The console keeps one list: now this one has to be asked for again.
    await page.getByRole('link', { name: 'note-20.webm' }).click();
    await heading(page, 'note-20.webm').waitFor();
    await page.getByRole('link', { name: 'Recordings' }).first().click();
    await row(page, 'note-60.webm').waitFor();
    await page.goBack();
    await heading(page, 'note-20.webm').waitFor();
    const release = await hold(page, '**/v1/recordings?*');
    await page.goBack();
    await page.getByText('Loading recordings…').waitFor({ state: 'attached' });
    release();
    await page.waitForFunction(() => scrollY > 500);
  });
});

const SUSPENDED = { error: { code: 1004, type: 'AccountSuspendedError', message: 'Ask the operator.', details: {} } };
