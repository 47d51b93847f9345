import { join } from 'node:path';
import { eventually } from '../../src/testing/eventually.js';
import { SPEECH } from '../../src/testing/speech.js';
import { useService } from '../../src/testing/test-service.js';
import { signInLink } from '../support/browser/browser.js';
import { KillableBrowser } from '../support/browser/killable-browser.js';

/** More of them by hand: `KILLS=20 npm test -- test/console/record-kill.e2e.ts`. */
const KILLS = Number(process.env.KILLS ?? 2);
const SHORTEST_MS = 1000;
const LONGEST_MS = process.env.KILLS ? 8000 : 4000;
const LOSS_SECONDS = 1;

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
        await before.addInitScript(noteStart);
        await before.goto(signInLink(client));
        await before.evaluate(() => (location.hash = '/record'));
        await before.getByRole('button', { name: 'Record', exact: true }).click();
        const startedAt = await eventually(() =>
          before.evaluate(() => (window as unknown as { startedAt?: number }).startedAt),
        );
        const moment = SHORTEST_MS + Math.random() * (LONGEST_MS - SHORTEST_MS);
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, startedAt + moment - Date.now())));
        const said = (Date.now() - startedAt) / 1000;
        await browser.kill();

        const after = await browser.start();
        await after.goto(signInLink(client));
        await after.evaluate(() => (location.hash = '/record'));
        await after.getByText(/^A recording of 0:\d\d from today/).waitFor();
        await after.getByRole('button', { name: /^Send/ }).click();
        await after.getByRole('button', { name: 'Uploads: 1 sent' }).waitFor();
        await browser.kill();
        const { body } = await client.get('/v1/recordings?limit=1').expect(200);
        const { total, recordings } = body as { total: number; recordings: { duration_seconds: number }[] };
        expect(total).toBe(n + 1);
        losses.push({ said, recovered: recordings[0]?.duration_seconds ?? 0 });
      }
      if (process.env.KILLS) console.log(tableOf(losses));
      expect(losses.filter(({ said, recovered }) => recovered < said - LOSS_SECONDS)).toEqual([]);
    },
    30_000 + KILLS * 30_000,
  );
});

/** Runs in the page before its scripts. */
function noteStart(): void {
  const { start } = MediaRecorder.prototype;
  MediaRecorder.prototype.start = function (...args) {
    this.addEventListener('start', () => Object.assign(window, { startedAt: Date.now() }), { once: true });
    start.apply(this, args);
  };
}

function tableOf(losses: { said: number; recovered: number }[]): string {
  const rows = losses.map(({ said, recovered }, i) =>
    [i + 1, said.toFixed(2), recovered.toFixed(2), (said - recovered).toFixed(2)].join('\t'),
  );
  return ['kill\tsaid s\trecovered s\tlost s', ...rows].join('\n');
}
