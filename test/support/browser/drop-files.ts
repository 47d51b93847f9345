import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
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

/** Holds a file above the page. */
export async function dragFiles(page: Page): Promise<void> {
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File([], 'note.wav'));
    document.body.dispatchEvent(new DragEvent('dragenter', { dataTransfer: data, bubbles: true }));
  });
}

/** Drops files on the page, as by the mouse from the desktop. */
export async function dropFiles(page: Page, files: readonly DroppedFile[]): Promise<void> {
  const sent = files.map(({ name, bytes }) => ({
    name,
    base64: typeof bytes === 'number' ? bytes : bytes.toString('base64'),
  }));
  await page.evaluate(async (dropped) => {
    const data = new DataTransfer();
    for (const { name, base64 } of dropped) {
      const bytes =
        typeof base64 === 'number'
          ? new Uint8Array(base64)
          : Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
      data.items.add(new File([bytes], name, { type: 'audio/wav' }));
    }
    const target = document.body;
    for (const type of ['dragenter', 'dragover', 'drop']) {
      target.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
    }
  }, sent);
}

/** Pastes a file, as after copying it in the file manager. */
export async function pasteFile(page: Page, { name, bytes }: { name: string; bytes: Buffer }): Promise<void> {
  await page.evaluate(
    ([filename, base64]) => {
      const data = new DataTransfer();
      const content = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
      data.items.add(new File([content], filename, { type: 'audio/wav' }));
      document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }));
    },
    [name, bytes.toString('base64')] as const,
  );
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
