import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { eventually } from '../../src/testing/eventually.js';
import { SPEECH } from '../../src/testing/speech.js';
import { useService } from '../../src/testing/test-service.js';
import { KillableBrowser } from '../support/browser/killable-browser.js';
import { fetchBinary } from '../support/http/clients/audio-client.js';
import { go, signInByLink } from '../support/browser/browser.js';

/** More of them by hand: `KILLS=20 npm test -- test/console/record-kill.e2e.ts`. */
const KILLS = Number(process.env.KILLS ?? 2);
const SHORTEST_MS = 1000;
const LONGEST_MS = process.env.KILLS ? 8000 : 4000;
const LOSS_MS = 1000;

describe('a browser that is killed while it records', () => {
  const service = useService({ ROLES: 'api' });
  const browser = new KillableBrowser(join(SPEECH, 'jfk.wav'));
  afterAll(() => browser.close());

  it(
    'loses at most the last second',
    async () => {
      const client = await service.account();
      const losses: { said: number; recovered: number }[] = [];
      for (let n = 0; n < KILLS; n += 1) {
        const before = await browser.start();
        const capture = await Capture.of(before);
        await signInByLink(before, client);
        await go(before, '/record');
        await before.getByRole('button', { name: 'Record', exact: true }).click();
        const startedAt = await eventually(() => capture.startedAt);
        const moment = SHORTEST_MS + Math.random() * (LONGEST_MS - SHORTEST_MS);
        await delay(Math.max(0, startedAt + moment - Date.now()));
        const due = await eventually(() => capture.due);
        const said = (Date.now() - startedAt) / 1000;
        await browser.kill();
        // The browser gives to the page what was said at least as often.
        expect(capture.partMs).toBeLessThanOrEqual(LOSS_MS / 2);

        const after = await browser.start();
        await signInByLink(after, client);
        await go(after, '/record');
        await after.getByText(/^A recording of \d:\d\d from today/).waitFor();
        await after.getByRole('button', { name: /^Send/ }).click();
        await after.getByRole('button', { name: 'Uploads: 1 sent' }).waitFor();
        await browser.kill();
        const { body } = await client.get('/v1/recordings?limit=1').expect(200);
        const { total, recordings } = body as { total: number; recordings: { id: string; duration_seconds: number }[] };
        expect(total).toBe(n + 1);
        const { bytes } = await fetchBinary(client, `/v1/recordings/${recordings[0]?.id}/audio`);
        expect(bytes.subarray(0, due.length).equals(due)).toBe(true);
        losses.push({ said, recovered: recordings[0]?.duration_seconds ?? 0 });
      }
      if (process.env.KILLS) console.log(tableOf(losses));
    },
    120_000 + KILLS * 60_000,
  );
});

type Report =
  | { kind: 'started'; at: number; partMs: number }
  | { kind: 'part'; at: number; base64: string }
  | { kind: 'written'; at: number };

/** What the browser gives to the page that records. Times are in milliseconds of the clock that both share. */
class Capture {
  startedAt: number | null = null;
  partMs = Infinity;
  private readonly parts: { at: number; bytes: Buffer }[] = [];
  /** When the last of the writes that the browser has completed was asked for. */
  private writtenAt = 0;

  static async of(page: Page): Promise<Capture> {
    const capture = new Capture();
    await page.exposeFunction('report', (report: Report) => capture.note(report));
    await page.addInitScript(watchRecorder);
    return capture;
  }

  /**
   * What must not be lost; null while that is nothing. A busy machine may give the page its parts late, and write late:
   * the second of the page ends with the last write that did succeed.
   */
  get due(): Buffer | null {
    const due = this.parts.filter(({ at }) => at <= this.writtenAt - LOSS_MS);
    return due.length > 0 ? Buffer.concat(due.map(({ bytes }) => bytes)) : null;
  }

  private note(report: Report): void {
    if (report.kind === 'started') {
      this.startedAt = report.at;
      this.partMs = report.partMs;
    } else if (report.kind === 'part') this.parts.push({ at: report.at, bytes: Buffer.from(report.base64, 'base64') });
    else this.writtenAt = Math.max(this.writtenAt, report.at);
  }
}

/** Runs in the page before its scripts. With each part it writes to a database of its own. */
function watchRecorder(): void {
  const { report } = window as unknown as { report: (report: Report) => Promise<void> };
  const { start } = MediaRecorder.prototype;
  MediaRecorder.prototype.start = function (...args) {
    const [partMs = Infinity] = args;
    const opening = indexedDB.open('test');
    opening.addEventListener('upgradeneeded', () => opening.result.createObjectStore('writes'));
    const reportPart = async (before: Promise<void>, part: Blob, at: number): Promise<void> => {
      await before;
      const bytes = new Uint8Array(await part.arrayBuffer());
      void report({ kind: 'part', at, base64: btoa(String.fromCharCode(...bytes)) });
    };
    let reported = Promise.resolve();
    this.addEventListener('start', () => void report({ kind: 'started', at: Date.now(), partMs }), { once: true });
    this.addEventListener('dataavailable', ({ data }) => {
      const at = Date.now();
      reported = reportPart(reported, data, at);
      if (opening.readyState !== 'done') return;
      const transaction = opening.result.transaction('writes', 'readwrite');
      transaction.objectStore('writes').put(at, 'last');
      transaction.addEventListener('complete', () => void report({ kind: 'written', at }));
    });
    start.apply(this, args);
  };
}

function tableOf(losses: { said: number; recovered: number }[]): string {
  const rows = losses.map(({ said, recovered }, i) =>
    [i + 1, said.toFixed(2), recovered.toFixed(2), (said - recovered).toFixed(2)].join('\t'),
  );
  return ['kill\tsaid s\trecovered s\tlost s', ...rows].join('\n');
}
