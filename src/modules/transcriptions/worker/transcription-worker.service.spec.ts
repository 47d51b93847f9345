import { availableParallelism } from 'node:os';
import { Logger } from '@nestjs/common';
import { OWN_ENGINES, WorkerSetup } from '../../../../test/support/worker/worker-setup.js';
import type { Env } from '../../../platform/config/env.js';
import type { TranscriptionWorkerService } from './transcription-worker.service.js';

const turns = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

/** Without TRANSCRIPTION_CONCURRENCY. */
const BY_CORES = 4 * availableParallelism();

describe('TranscriptionWorkerService', () => {
  let setup: WorkerSetup;
  let worker: TranscriptionWorkerService;
  let logged: unknown[][];

  function restart(env: Partial<Env> = {}, maxRecordings = 4): void {
    worker = setup.worker(env, maxRecordings);
    worker.onApplicationBootstrap();
  }

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] });
    logged = [];
    for (const level of ['log', 'warn', 'error'] as const) {
      jest
        .spyOn(Logger.prototype, level)
        .mockImplementation((...said: unknown[]) => void logged.push([level, ...said]));
    }
    setup = new WorkerSetup();
    restart();
  });

  afterEach(async () => {
    const stopped = worker.onModuleDestroy();
    for (const { end } of setup.runs) end();
    await stopped;
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  it('starts what is due, and when it is full only recordings of further accounts, up to its maximum', async () => {
    setup.due = ['a', 'a', 'a', 'b', 'b', 'c', 'd', 'e'];
    await worker.wake();
    expect(setup.accounts).toEqual(['a', 'a', 'b', 'c']);
    expect(setup.claims).toEqual([[], [], ['a'], ['a', 'b']]);
    expect([worker.recordings, worker.isFull]).toEqual([4, true]);
  });

  it('takes a second recording of an account when it is full, in the half of its room that others do not need', async () => {
    restart({}, 8);
    setup.due = ['a', 'b', 'a', 'a', 'b', 'b', 'c'];
    await worker.wake();
    expect(setup.accounts).toEqual(['a', 'b', 'c', 'a']);
    expect(setup.due).toEqual(['a', 'b', 'b']);
  });

  it('takes what is in the background only when nothing is due, a few at a time, which takes no room of others', async () => {
    restart({}, 8);
    setup.background = ['old', 'old', 'old'];
    setup.due = ['a'];
    await worker.wake();
    expect(setup.accounts).toEqual(['a', 'old']);
    expect([worker.recordings, worker.isFull]).toEqual([2, false]);
    setup.due = ['b', 'c'];
    await worker.wake();
    expect(setup.accounts).toEqual(['a', 'old', 'b', 'c']);
    expect(setup.background).toHaveLength(2);
    setup.runs[1]?.end();
    await turns();
    expect(setup.accounts).toEqual(['a', 'old', 'b', 'c', 'old']);
  });

  it('looks for the next one when a recording ends', async () => {
    setup.due = ['a', 'a', 'a'];
    await worker.wake();
    expect(setup.accounts).toEqual(['a', 'a']);
    expect(worker.isFull).toBe(true);
    setup.runs[0]?.end();
    await turns();
    expect(setup.accounts).toEqual(['a', 'a', 'a']);
  });

  it('looks once more for the wake-ups that came during a search', async () => {
    const answer = setup.holdAnswers();
    const search = worker.wake();
    await turns();
    expect(setup.claims).toHaveLength(1);
    // The claim that is under way did not see it.
    setup.due = ['a'];
    const repeats = [worker.wake(), worker.wake()];
    answer();
    await Promise.all([search, ...repeats]);
    expect(setup.accounts).toEqual(['a']);
    expect(setup.claims).toHaveLength(3);
  });

  it('looks every second, whatever Redis says', async () => {
    setup.due = ['a'];
    await jest.advanceTimersByTimeAsync(999);
    expect(setup.accounts).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(setup.accounts).toEqual(['a']);
  });

  it('says with each claim which recordings it holds, those of the background too', async () => {
    setup.due = ['a'];
    setup.background = ['b'];
    await worker.wake();
    expect(setup.holdings).toEqual([[], ['recording'], ['recording'], ['recording', 'old']]);
    for (const { end } of setup.runs) end();
    await jest.advanceTimersByTimeAsync(1000);
    expect(setup.holdings.at(-1)).toEqual([]);
  });

  it('claims nothing while it cannot decode', async () => {
    setup.due = ['a'];
    setup.decodingProblem = 'ffmpeg is not installed';
    await worker.wake();
    expect(setup.claims).toEqual([]);
    setup.decodingProblem = null;
    await worker.wake();
    expect(setup.accounts).toEqual(['a']);
  });

  it('claims recordings of accounts with engines of their own while the others cannot work', async () => {
    setup.due = ['a', OWN_ENGINES, 'b'];
    setup.problem = 'the engine is not installed';
    await worker.wake();
    expect(setup.accounts).toEqual([OWN_ENGINES]);
    setup.problem = null;
    await worker.wake();
    expect(setup.due).toEqual([]);
  });

  it('leaves what is in the background alone while the engines of the service cannot work', async () => {
    setup.background = ['old'];
    setup.problem = 'the engine is not installed';
    await worker.wake();
    expect(setup.accounts).toEqual([]);
    setup.problem = null;
    await worker.wake();
    expect(setup.accounts).toEqual(['old']);
  });

  it('claims nothing before it is started', async () => {
    setup.due = ['a'];
    await setup.worker().wake();
    expect(setup.claims).toEqual([]);
  });

  it('claims nothing once it is asked to stop, and waits for the recordings in progress', async () => {
    setup.due = ['a'];
    await worker.wake();
    let isStopped = false;
    const stopped = worker.onModuleDestroy().then(() => (isStopped = true));
    expect(setup.runs[0]?.signal.aborted).toBe(true);
    setup.due = ['b'];
    await worker.wake();
    expect([setup.accounts, isStopped]).toEqual([['a'], false]);
    setup.runs[0]?.end();
    await stopped;
    await jest.advanceTimersByTimeAsync(5000);
    expect(setup.accounts).toEqual(['a']);
  });

  it.each([
    { concurrency: undefined, maxRecordings: 1000, full: BY_CORES, most: Math.max(64, BY_CORES) },
    { concurrency: 3, maxRecordings: 1000, full: 3, most: 64 },
    { concurrency: 70, maxRecordings: 1000, full: 70, most: 70 },
    { concurrency: 8, maxRecordings: 4, full: 4, most: 4 },
  ])(
    'is full with $full recordings and holds $most ($concurrency, $maxRecordings)',
    async ({ concurrency, maxRecordings, full, most }) => {
      restart({ transcriptionConcurrency: concurrency ?? null }, maxRecordings);
      setup.due = Array.from({ length: full + 1 }, () => 'same');
      await worker.wake();
      expect([worker.recordings, worker.isFull]).toEqual([full, true]);
      setup.due = Array.from({ length: 200 }, (_, i) => `account ${i}`);
      await worker.wake();
      expect(worker.recordings).toBe(most);
      expect(await setup.registry.metrics()).toContain(`transcription_recordings ${most}`);
    },
  );

  it('takes as many of the background as a quarter of its recordings, rounded up', async () => {
    restart({ transcriptionConcurrency: 5 }, 100);
    setup.background = ['old', 'old', 'old'];
    await worker.wake();
    expect(worker.recordings).toBe(2);
  });

  it('leaves out what the process has postponed', async () => {
    await worker.wake();
    expect(setup.others).toEqual([['postponed']]);
  });

  it('does not look by itself where nothing is reconciled, nor once it has stopped', async () => {
    await worker.onModuleDestroy();
    expect(jest.getTimerCount()).toBe(0);
    restart({ reconcileSeconds: 0 });
    expect(jest.getTimerCount()).toBe(0);
  });

  it('waits at a stop for the claim that is under way, and ends what it gives', async () => {
    const answer = setup.holdAnswers();
    setup.due = ['a'];
    void worker.wake();
    await turns();
    let isStopped = false;
    const stopped = worker.onModuleDestroy().then(() => (isStopped = true));
    await turns();
    expect(isStopped).toBe(false);
    answer();
    await turns();
    expect([setup.runs.map(({ signal }) => signal.aborted), isStopped]).toEqual([[true], false]);
    setup.runs[0]?.end();
    await stopped;
  });

  it('logs once that the engines of the service cannot work, and once that they can', async () => {
    setup.problem = 'no model';
    await worker.wake();
    await worker.wake();
    expect(await worker.problem()).toBe('no model');
    setup.problem = null;
    await worker.wake();
    await worker.wake();
    expect(logged).toEqual([
      ['error', { problem: 'no model' }, 'transcription engine unavailable'],
      ['log', 'transcription engine available again'],
    ]);
  });

  it('logs a claim and a recording that failed, and goes on; not that Postgres is unavailable', async () => {
    setup.failure = new Error('Connection terminated unexpectedly');
    await worker.wake();
    expect(logged).toEqual([]);
    setup.failure = new Error('a defect');
    await worker.wake();
    expect(logged).toEqual([['warn', { err: setup.failure }, 'due recordings not claimed']]);
    setup.failure = null;
    setup.due = ['a'];
    await worker.wake();
    const lost = new Error('no connection');
    setup.runs[0]?.fail(lost);
    await turns();
    expect(logged.slice(1)).toEqual([['warn', { err: lost, recording_id: 'recording' }, 'recording not released']]);
    expect(worker.recordings).toBe(0);
  });
});
