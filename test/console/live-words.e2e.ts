import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { eventually } from '../../src/testing/eventually.js';
import { SPEECH } from '../../src/testing/speech.js';
import { storedItems, useConsole } from '../support/browser/browser.js';
import { expectGood } from '../support/browser/views.js';
import { fetchBinary } from '../support/http/clients/audio-client.js';

const exactly = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const words = (page: Page) => page.getByRole('group', { name: 'Words so far' });
const tray = (page: Page) => page.getByRole('region', { name: 'Uploads' });

interface Seen {
  seen: {
    parts: Blob[];
    sockets: WebSocket[];
    messages: { type: string; bytes?: number; stored_bytes?: number }[];
  };
}

/** Runs in the page before its scripts: what the microphone gives, and the connections for it. */
function watchRecorder(): void {
  const seen: Seen['seen'] = { parts: [], sockets: [], messages: [] };
  Object.assign(window, { seen });
  const { start } = MediaRecorder.prototype;
  MediaRecorder.prototype.start = function begun(...parameters) {
    this.addEventListener('dataavailable', ({ data }) => seen.parts.push(data));
    start.apply(this, parameters);
  };
  window.WebSocket = class extends WebSocket {
    constructor(...parameters: ConstructorParameters<typeof WebSocket>) {
      super(...parameters);
      seen.sockets.push(this);
      this.addEventListener('message', ({ data }) => seen.messages.push(JSON.parse(data as string)));
    }
  };
}

describe('a recording whose words appear while it is made', () => {
  const tested = useConsole({}, { microphone: join(SPEECH, 'jfk.wav') });

  const open = async (options: Parameters<typeof tested.open>[0] = {}) => {
    const arrange = (page: Page) => page.addInitScript(watchRecorder);
    const page = await tested.open({ route: '/record', liveWords: true, arrange, ...options });
    await exactly(page, 'Record').click();
    await exactly(page, 'Pause').waitFor();
    return page;
  };
  const recordings = async () => {
    const { body } = await tested.account.get('/v1/recordings').expect(200);
    return (body as { recordings: { id: string; upload_source: string; custom_tags: object }[] }).recordings;
  };
  /** What the microphone gave, as one file. */
  const recorded = async (page: Page): Promise<Buffer> => {
    const base64 = await page.evaluate(async () => {
      const bytes = new Uint8Array(await new Blob((window as unknown as Seen).seen.parts).arrayBuffer());
      return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
    });
    return Buffer.from(base64, 'base64');
  };
  /** The one recording that there is, with every byte. */
  const expectWhole = async (page: Page) => {
    await eventually(async () => (await storedItems(page)) === 0);
    const all = await recordings();
    expect(all).toHaveLength(1);
    const id = all[0]?.id as string;
    const isStored = async () => (await tested.account.get(`/v1/recordings/${id}/audio`)).status === 200;
    await eventually(isStored);
    const { bytes } = await fetchBinary(tested.account, `/v1/recordings/${id}/audio`);
    expect(bytes.equals(await recorded(page))).toBe(true);
    return id;
  };

  it('is a note with every byte once it is finished, also after a pause', async () => {
    const page = await open();
    await page.getByLabel('Title').fill('Inauguration');
    await exactly(page, 'Add a tag').click();
    await page.getByLabel('Name of tag 1').fill('project');
    await page.getByLabel('Value of tag 1').fill('atlas');
    await eventually(async () => /[a-z]{2}/.test((await words(page).textContent()) ?? ''));
    await expectGood(page, 'record-live-words');
    await exactly(page, 'Pause').click();
    await exactly(page, 'Resume').click();
    await exactly(page, 'Finish and send').click();
    await page.getByRole('heading', { name: 'Inauguration' }).waitFor({ timeout: 90_000 });
    const id = await expectWhole(page);
    expect(new URL(page.url()).hash).toBe(`#/recordings/${id}`);
    const { body } = await tested.account.get(`/v1/recordings/${id}?include=title`).expect(200);
    expect(body).toMatchObject({ title: 'Inauguration', custom_tags: { project: 'atlas' } });
  });

  it('goes on where the service has it when the connection is cut', async () => {
    const page = await open({ width: 360, theme: 'dark' });
    const messages = () => page.evaluate(() => (window as unknown as Seen).seen.messages);
    await eventually(async () => (await messages()).filter(({ type }) => type === 'stored').length > 3);
    await page.evaluate(() => (window as unknown as Seen).seen.sockets.at(-1)?.close(3000));
    const isResumed = async () => {
      const all = await messages();
      const { stored_bytes: resumed = 0 } = all.find(({ type }) => type === 'resumed') ?? {};
      return resumed > 0 && all.some(({ type, bytes = 0 }) => type === 'stored' && bytes > resumed);
    };
    await eventually(isResumed);
    await expectGood(page, 'record-live-words-360-dark', { fullPage: false });
    await exactly(page, 'Finish and send').click();
    await expectWhole(page);
  });

  it('is recorded on and sent as before where the service refuses it, or it is turned off', async () => {
    const arrange = async (page: Page) => {
      await page.routeWebSocket('**/v1/realtime*', (socket) => socket.close({ code: 4029, reason: 'Not now.' }));
      await page.addInitScript(watchRecorder);
    };
    const page = await open({ arrange });
    await page.getByText('No live words. Not now. The recording goes on.').waitFor();
    await exactly(page, 'Pause').click();
    await expectGood(page, 'record-live-refused');
    await exactly(page, 'Finish and send').click();
    await tray(page).getByText('Sent', { exact: true }).waitFor();
    await expectWhole(page);

    await page.getByRole('switch', { name: 'Live words' }).uncheck();
    await exactly(page, 'Record').click();
    await exactly(page, 'Pause').waitFor();
    expect(await words(page).count()).toBe(0);
    await exactly(page, 'Discard').click();
  });

  it('is not kept by the service when it is discarded', async () => {
    const page = await open();
    await eventually(async () => (await recordings()).length === 1);
    await exactly(page, 'Discard').click();
    const discard = page.getByRole('dialog').getByRole('button', { name: 'Discard' });
    await exactly(page, 'Record').or(discard).waitFor();
    if (await discard.isVisible()) await discard.click();
    await eventually(async () => (await recordings()).length === 0);
  });
});
