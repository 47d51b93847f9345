import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import type { TestService } from '../../src/testing/test-service.js';
import { longRecording } from '../support/audio/long-recording.js';
import { rowOf, useFleet } from '../support/service/fleet.js';
import { reportMeasurement } from '../support/service/measurements.js';
import { timedEngine } from '../support/service/test-engines.js';

/** Two workers with one slot each: together they transcribe 2 × 33 seconds of audio in a second. */
const MS_PER_SECOND = 30;
const ENGINE = { TRANSCRIPTION_ENGINE: 'timed', SPEECH_DETECTOR: 'energy', TRANSCRIPTION_CONCURRENCY: '4' };

/** Without the clock of the reconciler. */
const POLLING = { ...ENGINE, RECONCILE_SECONDS: '0' };

const engine = timedEngine({ msPerSecond: MS_PER_SECOND, concurrency: 1 });

describe('D33: two workers', () => {
  const fleet = useFleet({ extensions: [engine.extension] });
  let api: TestService;

  beforeAll(async () => {
    api = await fleet.service('api', ENGINE);
  });

  beforeEach(() => {
    engine.chunks.length = 0;
  });

  /** @param times eleven seconds each. The language tells the engine whose it is. */
  async function uploads(client: ApiClient, count: number, times: number, language: string): Promise<string[]> {
    const audio = await longRecording(times);
    const ids: string[] = [];
    for (let i = 0; i < count; i++) ids.push((await client.upload(audio, { language }).expect(201)).body.id as string);
    return ids;
  }

  const chunksOf = (language: string) => engine.chunks.filter((chunk) => chunk.language === language);

  it('give three accounts the same seconds, and a fourth its turn at once', async () => {
    const accounts = await Promise.all(Array.from({ length: 4 }, () => api.account()));
    const [first, second, third, late] = accounts as [ApiClient, ApiClient, ApiClient, ApiClient];
    await uploads(first, 6, 4, 'english');
    await uploads(second, 12, 2, 'german');
    await uploads(third, 24, 1, 'french');
    const workers = await Promise.all([1, 2].map(() => fleet.service('worker', ENGINE)));
    await eventually(() => chunksOf('english').length > 3);

    const waits: number[] = [];
    for (let i = 0; i < 3; i++) {
      await uploads(late, 1, 1, 'dutch');
      const asked = Date.now();
      const chunk = await eventually(() => chunksOf('dutch')[i]);
      waits.push(chunk.startedAt - asked);
    }
    const languages = ['english', 'german', 'french'];
    // Until the first of the three has nothing left.
    await eventually(
      () => languages.some((l) => chunksOf(l).reduce((sum, { seconds }) => sum + seconds, 0) > 200),
      180_000,
    );
    const seconds = languages.map((l) => Math.round(chunksOf(l).reduce((sum, chunk) => sum + chunk.seconds, 0)));
    reportMeasurement(`D33: three accounts were given ${seconds.join(', ')} s; a fourth waited ${waits.join(', ')} ms`);
    expect(Math.max(...waits)).toBeLessThan(15_000);
    expect(Math.min(...seconds) / Math.max(...seconds)).toBeGreaterThan(0.8);
    await Promise.all(workers.map((worker) => worker.close()));
    await api.database.query('DELETE FROM recordings');
  });

  it('take no wake-ups while the engine cannot work, and go on when it can', async () => {
    engine.state.problem = 'no engine';
    await fleet.service('worker', POLLING);
    const client = await api.account();
    const ids = await uploads(client, 3, 1, 'english');
    await new Promise((resolve) => setTimeout(resolve, 500));
    engine.state.problem = null;
    for (const id of ids) expect(await client.finished(id)).toMatchObject({ status: 'transcribed' });
  });

  it('wake another worker when they hand a recording back at shutdown', async () => {
    const client = await api.account();
    const leaving = await fleet.service('worker', POLLING);
    const [id] = await uploads(client, 1, 8, 'english');
    await eventually(async () => (await rowOf(api, id as string)).held);
    // It does not look for work by itself: only a job can tell it.
    await fleet.service('worker', POLLING);
    await leaving.close();
    expect(await client.finished(id as string)).toMatchObject({ status: 'transcribed' });
  });
});
