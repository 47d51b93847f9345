import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JSHandle, Page } from 'playwright-core';
import { SPEECH } from '../../../src/testing/speech.js';

export interface DroppedFile {
  name: string;
  /** Or how many zeros. */
  bytes: Buffer | number;
}

/** A recording of {@link SPEECH}. @param name instead of its own */
export function speechFile(file = 'go-forward-ten-meters.wav', name = file): { name: string; bytes: Buffer } {
  return { name, bytes: readFileSync(join(SPEECH, file)) };
}

/** Files as the mouse or the clipboard holds them. */
async function transfer(page: Page, files: readonly DroppedFile[]): Promise<JSHandle<DataTransfer>> {
  const sent = files.map(({ name, bytes }) => ({
    name,
    content: typeof bytes === 'number' ? bytes : bytes.toString('base64'),
  }));
  return await page.evaluateHandle((given) => {
    const data = new DataTransfer();
    for (const { name, content } of given) {
      const bytes =
        typeof content === 'number'
          ? new Uint8Array(content)
          : Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
      data.items.add(new File([bytes], name, { type: 'audio/wav' }));
    }
    return data;
  }, sent);
}

/** Holds a file above the page. */
export async function dragFiles(page: Page): Promise<void> {
  const dataTransfer = await transfer(page, [{ name: 'note.wav', bytes: 0 }]);
  await page.dispatchEvent('body', 'dragenter', { dataTransfer });
}

/** Drops files on the page, as by the mouse from the desktop. */
export async function dropFiles(page: Page, files: readonly DroppedFile[]): Promise<void> {
  const dataTransfer = await transfer(page, files);
  for (const type of ['dragenter', 'dragover', 'drop']) await page.dispatchEvent('body', type, { dataTransfer });
}

/** Pastes a file, as after copying it in the file manager. */
export async function pasteFile(page: Page, file: DroppedFile): Promise<void> {
  const data = await transfer(page, [file]);
  await page.evaluate((clipboardData) => {
    document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
  }, data);
}

/** Slows down what this page sends. @param bytesPerSecond no limit when omitted */
export async function limitUploads(page: Page, bytesPerSecond = -1): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: bytesPerSecond,
  });
}
