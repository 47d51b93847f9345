import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { eventually } from '../../src/testing/eventually.js';
import { SPEECH } from '../../src/testing/speech.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { go, heading, storedItems, useConsole } from '../support/browser/browser.js';
import { expectGoodState } from '../support/browser/views.js';
import { PASSWORD, signIn } from '../support/http/session-client.js';

/** What a browser writes for each request without a network. */
const NO_NETWORK = [/ERR_INTERNET_DISCONNECTED/, /WebSocket/, /Failed to fetch/];

describe('the console without a network', () => {
  const tested = useConsole({ ROLES: 'api' }, { microphone: join(SPEECH, 'go-forward-ten-meters.wav') });
  const exactly = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const tray = (page: Page) => page.getByRole('region', { name: 'Uploads' });
  /** Recordings of the account, as another client sees them. */
  const arrived = async () => {
    const { body } = await tested.account.get('/v1/recordings').expect(200);
    return (body as { recordings: { file_size_bytes: number }[] }).recordings;
  };

  /** Signed in as a person, with the console kept. */
  async function open(options: Parameters<typeof tested.open>[0] = {}): Promise<Page> {
    const email = `olga-${randomUUID()}@example.com`;
    const olga = await signIn(tested.service, tested.account.accountId, { email, name: 'Olga Owner' });
    await olga.send('patch', '/v1/session/person', { password: PASSWORD }).expect(200);
    const page = await tested.open({ signedInAs: null, kept: true, expectedProblems: NO_NETWORK, ...options });
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await exactly(page, 'Sign in').click();
    await heading(page, 'Recordings').waitFor();
    await eventually(() => page.evaluate(() => navigator.serviceWorker.controller !== null));
    return page;
  }

  it('opens, records, keeps the note over a reload, and sends it when there is a network', async () => {
    const page = await open({ liveWords: true });
    await page.context().setOffline(true);
    await page.reload();
    await heading(page, 'Recordings').waitFor();
    await expectGoodState(page, 'offline-list');
    await go(page, '/record');
    await exactly(page, 'Record').click();
    await exactly(page, 'Pause').waitFor();
    await eventually(async () => ((await page.getByRole('timer').textContent()) ?? '').includes('0:02'));
    await exactly(page, 'Finish and send').click();
    await tray(page).getByText('Offline. Resumes automatically.').waitFor();
    await expectGoodState(page, 'offline-record');
    await page.reload();
    await tray(page).getByText('Offline. Resumes automatically.').waitFor();
    expect(await storedItems(page)).toBe(1);
    await page.context().setOffline(false);
    await eventually(async () => (await arrived()).length === 1);
    await eventually(async () => (await storedItems(page)) === 0);
  });

  it('takes the audio that another app shares, and sends it to the account of who opens it', async () => {
    const page = await open();
    const bytes = silenceWav(1);
    // As the system does it with a navigation, which no page may.
    const target = await page.evaluate(
      async (sent) => {
        const form = new FormData();
        form.append('audio', new File([Uint8Array.from(sent)], 'from-a-friend.wav', { type: 'audio/wav' }));
        const answer = await fetch('share-target', { method: 'POST', body: form });
        return answer.url;
      },
      [...bytes],
    );
    expect(target).toBe(`${tested.service.url}/`);
    expect([await storedItems(page), (await arrived()).length]).toEqual([1, 0]);
    await go(page, '/record');
    await page.reload();
    await tray(page).getByRole('link', { name: 'Open: from-a-friend.wav' }).waitFor();
    expect((await arrived()).map(({ file_size_bytes: size }) => size)).toEqual([bytes.length]);
  });

  it('keeps files of the console alone, and no answer of the API', async () => {
    const page = await open();
    const kept = await page.evaluate(async () => {
      const requests = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()));
      return requests.flat().map(({ url }) => new URL(url).pathname);
    });
    expect(kept).toEqual(expect.arrayContaining(['/', '/icon.svg', '/manifest.webmanifest']));
    expect(kept.filter((path) => !/^\/(assets\/[\w.-]+|[\w-]+\.\w+)?$/.test(path))).toEqual([]);
    expect(kept.filter((path) => path.includes('shared-'))).toEqual([]);
  });

  it('goes on with the session that it knows while the service cannot answer, and ends it when the service does', async () => {
    const page = await open({ expectedProblems: [...NO_NETWORK, /50\d/] });
    const refuse = (status: number) =>
      page.context().route('**/v1/session', (route) => route.fulfill({ status, json: {} }));
    await refuse(503);
    await page.reload();
    await heading(page, 'Recordings').waitFor();
    await page.context().unrouteAll();
    await refuse(401);
    await page.reload();
    await page.getByText('Your session has ended.').waitFor();
  });
});
