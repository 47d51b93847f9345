import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import type { TestService } from '../../src/testing/test-service.js';
import { longRecording } from '../support/audio/long-recording.js';
import { waitedForCpu } from '../support/cpu-wait.js';
import { commandRunner } from '../support/service/cli.js';
import { reportMeasurement } from '../support/service/measurements.js';
import { rowOf, useFleet } from '../support/service/fleet.js';
import { timedEngine } from '../support/service/test-engines.js';
import { transcribe } from '../support/state/recording-states.js';

/** A note of two seconds takes 100 ms. */
const engine = timedEngine({ msPerSecond: 50, concurrency: 2 });
const TIMED = { TRANSCRIPTION_ENGINE: 'timed', SPEECH_DETECTOR: 'energy', RECONCILE_SECONDS: '1' };
const NOTE = 'go-forward-ten-meters.wav';
const SINCE = ['--since', '2020-01-01'];

const fleet = useFleet({ extensions: [engine.extension] });
const { environment } = fleet;
const run = commandRunner();
let api: TestService;

beforeAll(async () => {
  api = await fleet.service('api', TIMED);
});

beforeEach(async () => {
  engine.chunks.length = 0;
  engine.state.hold = () => undefined;
  await api.database.query('DELETE FROM recordings');
  await api.database.query('DELETE FROM retranscriptions');
});

const startWorker = () => fleet.service('worker', TIMED);

/** Notes that another engine has transcribed. */
async function oldNotes(client: ApiClient, count: number, model = 'old-model'): Promise<string[]> {
  const ids: string[] = [];
  const add = async (): Promise<void> => {
    const { body } = await client.upload(NOTE, { language: 'english' }).expect(201);
    await transcribe(api, body.id as string, { text: 'old text', model, durationMs: 2000 });
    ids.push(body.id as string);
  };
  for (let left = count; left > 0; left -= 10) await Promise.all(Array.from({ length: Math.min(left, 10) }, add));
  return ids;
}

async function retranscribe(...args: string[]) {
  const said = await run(environment, 'retranscribe', '--json', ...args);
  return { ...said, jobs: said.code === 0 ? JSON.parse(said.stdout).retranscriptions : undefined };
}

const chunksOf = (language: string) => engine.chunks.filter((chunk) => chunk.language === language);
const modelsOf = async ({ accountId }: ApiClient): Promise<Record<string, number>> => {
  const rows = await api.database.query<{ model: string; count: number }>(
    'SELECT model, count(*)::int AS count FROM transcriptions WHERE account_id = $1 GROUP BY 1',
    [accountId],
  );
  return Object.fromEntries(rows.map(({ model, count }) => [model, count]));
};
const eventsOf = async ({ accountId }: ApiClient): Promise<number> => {
  const [row] = await api.database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM events WHERE account_id = $1
       AND kind IN ('recording.transcribed', 'recording.failed') AND run > 1`,
    [accountId],
  );
  return row?.count ?? 0;
};
const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

describe('admin retranscribe (D49)', () => {
  it('has 50 old notes of two accounts transcribed in turn, while new ones do not wait for them', async () => {
    const [first, second, busy] = [await api.account(), await api.account(), await api.account()];
    await oldNotes(first, 35);
    await oldNotes(second, 15);
    await oldNotes(first, 3, 'timed-1');
    await startWorker();
    const waitsOf = async (count: number): Promise<number[]> => {
      const waits: number[] = [];
      for (let i = 0; i < count; i++) {
        const before = chunksOf('dutch').length;
        const { body } = await (i % 2 ? busy : first).upload(NOTE, { language: 'dutch' }).expect(201);
        const [uploaded, waited] = [Date.now(), waitedForCpu()];
        const chunk = await eventually(() => chunksOf('dutch')[before]);
        waits.push(Math.round(chunk.startedAt - uploaded - (waitedForCpu() - waited)));
        await busy.get(`/v1/recordings/${body.id}`);
      }
      return waits;
    };
    const idle = await waitsOf(5);
    const begun = await retranscribe('--all', '--model-not', 'timed-1', ...SINCE, '--detach');
    const totals = begun.jobs.map(({ account_id, total }: Record<string, unknown>) => [account_id, total]);
    expect(Object.fromEntries(totals)).toEqual({ [first.accountId]: 35, [second.accountId]: 15 });
    await eventually(() => chunksOf('english').length > 5);
    // However long the six take, old ones are left: the worker gets no further than `most`.
    let most = 30;
    let goOn!: () => void;
    const measured = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    engine.state.hold = (language) =>
      language === 'english' && chunksOf('english').length > most ? measured : undefined;
    const meanwhile = await waitsOf(3);
    // From now on old ones do not end: what waits for one of them waits for ever.
    most = 0;
    meanwhile.push(...(await waitsOf(3)));
    expect((await modelsOf(first))['old-model']).toBeGreaterThan(0);
    goOn();
    reportMeasurement(
      `D49: new notes wait ${median(idle)} ms (at most ${Math.max(...idle)}), and ${median(meanwhile)} ms (at most ` +
        `${Math.max(...meanwhile)}) while old ones are transcribed again`,
    );
    expect(median(meanwhile)).toBeLessThan(median(idle) + 500);

    await eventually(async () => ((await modelsOf(first))['timed-1'] ?? 0) > 20, 180_000);
    const [ofFirst, ofSecond] = [(await modelsOf(first))['timed-1'] ?? 0, (await modelsOf(second))['timed-1'] ?? 0];
    expect(ofSecond).toBeGreaterThanOrEqual(Math.min(12, ofFirst - 18));

    await eventually(async () => {
      const running = await api.database.query('SELECT 1 FROM retranscriptions WHERE ended_at IS NULL');
      return running.length === 0;
    }, 180_000);
    expect((await retranscribe('--status')).jobs).toMatchObject([
      { status: 'ended', pending: 0, failed: 0 },
      { status: 'ended', pending: 0, failed: 0 },
    ]);
    expect(await modelsOf(second)).toEqual({ 'timed-1': 15 });
    expect([await eventsOf(first), await eventsOf(second)]).toEqual([35, 15]);
    const again = await retranscribe('--all', '--model-not', 'timed-1', ...SINCE);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('No such recordings') });
  });

  it('keeps to its rate, tells nobody with --quiet, and ends by --cancel', async () => {
    const client = await api.account();
    await oldNotes(client, 12);
    const common = ['--account', client.accountId, '--model-not', 'x', ...SINCE, '--detach'];
    await startWorker();
    const started = Date.now();
    await retranscribe(...common, '--rate', '20', '--quiet');
    await eventually(async () => (await modelsOf(client))['timed-1']);
    expect(Date.now() - started).toBeGreaterThan(3000);
    const { 'timed-1': done = 0 } = await modelsOf(client);
    const marked = await api.database.query('SELECT 1 FROM recordings WHERE rerun IS NOT NULL');
    expect(done + marked.length).toBeLessThanOrEqual(Math.floor((Date.now() - started) / 3000));
    const refused = await retranscribe(...common);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('in progress') });
    const canceled = await run(environment, 'retranscribe', '--cancel', '--account', client.accountId, '--json');
    expect(JSON.parse(canceled.stdout)).toEqual({ canceled_accounts: 1 });
    await eventually(async () => {
      const rows = await api.database.query('SELECT 1 FROM recordings WHERE rerun IS NOT NULL');
      return rows.length === 0;
    });
    expect((await modelsOf(client))['old-model']).toBeGreaterThan(0);
    expect(await eventsOf(client)).toBe(0);
  });

  it('leaves the text of one that fails, counts it, and no event tells of it', async () => {
    const client = await api.account();
    const [id] = await oldNotes(client, 2);
    await api.database.query(`UPDATE recordings SET object_key = replace(object_key, '.wav', '.ogg') WHERE id = $1`, [
      id,
    ]);
    await startWorker();
    const { jobs } = await retranscribe('--account', client.accountId, '--model-not', 'timed-1', ...SINCE);
    expect(jobs).toMatchObject([{ status: 'ended', done: 2, failed: 1 }]);
    expect(await modelsOf(client)).toEqual({ 'old-model': 1, 'timed-1': 1 });
    expect((await client.get(`/v1/recordings/${id}`).expect(200)).body.status).toBe('transcribed');
    expect(await eventsOf(client)).toBe(1);
  });

  it('watches until the end, and explains what is missing', async () => {
    const client = await api.account();
    await oldNotes(client, 3);
    await startWorker();
    const said = await retranscribe('--account', client.accountId, '--model-not', 'timed-1', ...SINCE);
    expect(said).toMatchObject({ code: 0, jobs: [{ status: 'ended', done: 3, total: 3, failed: 0 }] });
    expect(said.stderr).toMatch(/3 of 3 recordings, 0 failed/);
    for (const [args, message] of [
      [['--all'], 'Add --model-not'],
      [['--all', '--model-not', 'x'], 'Add --since'],
      [['--model-not', 'x', ...SINCE], 'Add --account with an id, or --all'],
      [['--all', '--since', '2026-02-30'], 'It must be a day that exists'],
    ] as const) {
      expect(await retranscribe(...args)).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
    }
  });
});

describe('a worker that is killed while it transcribes again', () => {
  it('leaves the text as it was, and another worker replaces it, with one event', async () => {
    const client = await api.account();
    const { body } = await client.upload(await longRecording(2)).expect(201);
    const id = body.id as string;
    await transcribe(api, id, { text: 'old text', model: 'old-model', durationMs: body.duration_seconds * 1000 });
    await client.post(`/v1/recordings/${id}/transcribe`, {}).expect(202);
    const victim = await fleet.process('worker', { TRANSCRIPTION_ENGINE: 'pocketsphinx' });
    await eventually(async () => (await rowOf(api, id)).held);
    await victim.end('SIGKILL');
    expect((await client.get(`/v1/recordings/${id}/transcription`).expect(200)).body.text).toBe('old text');
    await api.database.query('UPDATE recordings SET lease_until = now() WHERE id = $1', [id]);
    await startWorker();
    const row = await eventually(async () => {
      const found = await rowOf(api, id);
      return found.rerun === null && found;
    });
    expect(row.attempt).toBe(2);
    const { body: text } = await client.get(`/v1/recordings/${id}/transcription`).expect(200);
    expect(text).toMatchObject({ provider: 'timed', model: 'timed-1' });
    expect((await client.get(`/v1/recordings/${id}/transcriptions`).expect(200)).body.total).toBe(2);
    expect(await eventsOf(client)).toBe(1);
  });
});
