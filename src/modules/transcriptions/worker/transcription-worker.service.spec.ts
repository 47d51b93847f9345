import { availableParallelism } from 'node:os';
import { Logger } from '@nestjs/common';
import { Registry } from 'prom-client';
import type { Env } from '../../../platform/config/env.js';
import type { MetricsMiddleware } from '../../../platform/observability/metrics.middleware.js';
import type { Lease, RecordingLeasesService } from '../../recordings/leases/recording-leases.service.js';
import type { EngineRuntimesService } from '../engines/chain/engine-runtimes.service.js';
import type { EngineChainService } from './engine-chain.service.js';
import type { TranscriptionRunService } from './transcription-run.service.js';
import { TranscriptionWorkerService } from './transcription-worker.service.js';

const turns = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

/** An account with engines of its own. */
const OWN_ENGINES = 'own';

/** Without TRANSCRIPTION_CONCURRENCY. */
const BY_CORES = 4 * availableParallelism();

interface Claim {
  held: readonly string[];
  exceptAccounts: readonly string[];
  except: { ofSharedEngines: boolean; others: unknown };
}

describe('TranscriptionWorkerService', () => {
  /** Accounts of the recordings that are due, the next one first. */
  let due: string[];
  /** Accounts of those that wait behind all others. */
  let background: string[];
  /** The accounts that each claim left out. */
  let claims: (readonly string[])[];
  /** The recordings that each claim said the worker holds. */
  let holdings: (readonly string[])[];
  /** What each claim left out besides. */
  let others: unknown[];
  /** What the next claim or recording fails with. */
  let failure: Error | null;
  let registry: Registry;
  let logged: unknown[][];
  /** When Postgres answers the claims. */
  let answered: Promise<void>;
  let runs: { account: string; signal: AbortSignal; end: () => void; fail: (error: Error) => void }[];
  /** Of the engines of the service. */
  let problem: string | null;
  let decodingProblem: string | null;
  let worker: TranscriptionWorkerService;

  function workerOf(env: Partial<Env> = {}, maxRecordings = 4): TranscriptionWorkerService {
    registry = new Registry();
    const leases = {
      claimNext: async ({ held, exceptAccounts: except, except: unworkable }: Claim) => {
        const { ofSharedEngines } = unworkable;
        claims.push(except);
        holdings.push(held);
        others.push(unworkable.others);
        if (failure) throw failure;
        const next = due.findIndex(
          (account) => !except.includes(account) && (!ofSharedEngines || account === OWN_ENGINES),
        );
        const accountId = next < 0 ? null : due.splice(next, 1)[0];
        await answered;
        return accountId ? ({ id: 'recording', accountId } as Lease) : null;
      },
      claimBackground: async (held: readonly string[]) => {
        holdings.push(held);
        const accountId = background.shift();
        return accountId ? ({ id: 'old', accountId, rerun: 'background' } as Lease) : null;
      },
    };
    const runner = {
      perform: ({ accountId: account }: Lease, signal: AbortSignal) =>
        new Promise<void>((end, fail) => void runs.push({ account, signal, end, fail })),
    };
    return new TranscriptionWorkerService(
      leases as unknown as RecordingLeasesService,
      {
        problem: async () => problem ?? decodingProblem,
        decodingProblem: async () => decodingProblem,
        postponements: { current: ['postponed'] },
      } as unknown as EngineChainService,
      { maxRecordings } as unknown as EngineRuntimesService,
      runner as unknown as TranscriptionRunService,
      { transcriptionConcurrency: 2, reconcileSeconds: 5, ...env } as Env,
      { registry } as unknown as MetricsMiddleware,
    );
  }

  function restart(env: Partial<Env> = {}, maxRecordings = 4): void {
    worker = workerOf(env, maxRecordings);
    worker.onApplicationBootstrap();
  }

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] });
    due = [];
    background = [];
    claims = [];
    holdings = [];
    others = [];
    failure = null;
    logged = [];
    for (const level of ['log', 'warn', 'error'] as const) {
      jest
        .spyOn(Logger.prototype, level)
        .mockImplementation((...said: unknown[]) => void logged.push([level, ...said]));
    }
    answered = Promise.resolve();
    runs = [];
    problem = null;
    decodingProblem = null;
    restart();
  });

  afterEach(async () => {
    const stopped = worker.onModuleDestroy();
    for (const { end } of runs) end();
    await stopped;
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  /** @returns what lets Postgres answer. */
  function keepWaiting(): () => void {
    let answer = (): void => undefined;
    answered = new Promise((resolve) => (answer = resolve));
    return () => answer();
  }

  const accounts = () => runs.map(({ account }) => account);

  it('starts what is due, and when it is full only recordings of further accounts, up to its maximum', async () => {
    due = ['a', 'a', 'a', 'b', 'b', 'c', 'd', 'e'];
    await worker.wake();
    expect(accounts()).toEqual(['a', 'a', 'b', 'c']);
    expect(claims).toEqual([[], [], ['a'], ['a', 'b']]);
    expect([worker.recordings, worker.isFull]).toEqual([4, true]);
  });

  it('takes a second recording of an account when it is full, in the half of its room that others do not need', async () => {
    restart({}, 8);
    due = ['a', 'b', 'a', 'a', 'b', 'b', 'c'];
    await worker.wake();
    expect(accounts()).toEqual(['a', 'b', 'c', 'a']);
    expect(due).toEqual(['a', 'b', 'b']);
  });

  it('takes what is in the background only when nothing is due, a few at a time, which takes no room of others', async () => {
    restart({}, 8);
    background = ['old', 'old', 'old'];
    due = ['a'];
    await worker.wake();
    expect(accounts()).toEqual(['a', 'old']);
    expect([worker.recordings, worker.isFull]).toEqual([2, false]);
    due = ['b', 'c'];
    await worker.wake();
    expect(accounts()).toEqual(['a', 'old', 'b', 'c']);
    expect(background).toHaveLength(2);
    runs[1]?.end();
    await turns();
    expect(accounts()).toEqual(['a', 'old', 'b', 'c', 'old']);
  });

  it('looks for the next one when a recording ends', async () => {
    due = ['a', 'a', 'a'];
    await worker.wake();
    expect(accounts()).toEqual(['a', 'a']);
    expect(worker.isFull).toBe(true);
    runs[0]?.end();
    await turns();
    expect(accounts()).toEqual(['a', 'a', 'a']);
  });

  it('looks once more for the wake-ups that came during a search', async () => {
    const answer = keepWaiting();
    const search = worker.wake();
    await turns();
    expect(claims).toHaveLength(1);
    // The claim that is under way did not see it.
    due = ['a'];
    const repeats = [worker.wake(), worker.wake()];
    answer();
    await Promise.all([search, ...repeats]);
    expect(accounts()).toEqual(['a']);
    expect(claims).toHaveLength(3);
  });

  it('looks every second, whatever Redis says', async () => {
    due = ['a'];
    await jest.advanceTimersByTimeAsync(999);
    expect(accounts()).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(accounts()).toEqual(['a']);
  });

  it('says with each claim which recordings it holds, those of the background too', async () => {
    due = ['a'];
    background = ['b'];
    await worker.wake();
    expect(holdings).toEqual([[], ['recording'], ['recording'], ['recording', 'old']]);
    for (const { end } of runs) end();
    await jest.advanceTimersByTimeAsync(1000);
    expect(holdings.at(-1)).toEqual([]);
  });

  it('claims nothing while it cannot decode', async () => {
    due = ['a'];
    decodingProblem = 'ffmpeg is not installed';
    await worker.wake();
    expect(claims).toEqual([]);
    decodingProblem = null;
    await worker.wake();
    expect(accounts()).toEqual(['a']);
  });

  it('claims recordings of accounts with engines of their own while the others cannot work', async () => {
    due = ['a', OWN_ENGINES, 'b'];
    problem = 'the engine is not installed';
    await worker.wake();
    expect(accounts()).toEqual([OWN_ENGINES]);
    problem = null;
    await worker.wake();
    expect(due).toEqual([]);
  });

  it('leaves what is in the background alone while the engines of the service cannot work', async () => {
    background = ['old'];
    problem = 'the engine is not installed';
    await worker.wake();
    expect(accounts()).toEqual([]);
    problem = null;
    await worker.wake();
    expect(accounts()).toEqual(['old']);
  });

  it('claims nothing before it is started', async () => {
    due = ['a'];
    await workerOf().wake();
    expect(claims).toEqual([]);
  });

  it('claims nothing once it is asked to stop, and waits for the recordings in progress', async () => {
    due = ['a'];
    await worker.wake();
    let isStopped = false;
    const stopped = worker.onModuleDestroy().then(() => (isStopped = true));
    expect(runs[0]?.signal.aborted).toBe(true);
    due = ['b'];
    await worker.wake();
    expect([accounts(), isStopped]).toEqual([['a'], false]);
    runs[0]?.end();
    await stopped;
    await jest.advanceTimersByTimeAsync(5000);
    expect(accounts()).toEqual(['a']);
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
      due = Array.from({ length: full + 1 }, () => 'same');
      await worker.wake();
      expect([worker.recordings, worker.isFull]).toEqual([full, true]);
      due = Array.from({ length: 200 }, (_, i) => `account ${i}`);
      await worker.wake();
      expect(worker.recordings).toBe(most);
      expect(await registry.metrics()).toContain(`transcription_recordings ${most}`);
    },
  );

  it('takes as many of the background as a quarter of its recordings, rounded up', async () => {
    restart({ transcriptionConcurrency: 5 }, 100);
    background = ['old', 'old', 'old'];
    await worker.wake();
    expect(worker.recordings).toBe(2);
  });

  it('leaves out what the process has postponed', async () => {
    await worker.wake();
    expect(others).toEqual([['postponed']]);
  });

  it('does not look by itself where nothing is reconciled, nor once it has stopped', async () => {
    await worker.onModuleDestroy();
    expect(jest.getTimerCount()).toBe(0);
    restart({ reconcileSeconds: 0 });
    expect(jest.getTimerCount()).toBe(0);
  });

  it('waits at a stop for the claim that is under way, and ends what it gives', async () => {
    const answer = keepWaiting();
    due = ['a'];
    void worker.wake();
    await turns();
    let isStopped = false;
    const stopped = worker.onModuleDestroy().then(() => (isStopped = true));
    await turns();
    expect(isStopped).toBe(false);
    answer();
    await turns();
    expect([runs.map(({ signal }) => signal.aborted), isStopped]).toEqual([[true], false]);
    runs[0]?.end();
    await stopped;
  });

  it('logs once that the engines of the service cannot work, and once that they can', async () => {
    problem = 'no model';
    await worker.wake();
    await worker.wake();
    expect(await worker.problem()).toBe('no model');
    problem = null;
    await worker.wake();
    await worker.wake();
    expect(logged).toEqual([
      ['error', { problem: 'no model' }, 'transcription engine unavailable'],
      ['log', 'transcription engine available again'],
    ]);
  });

  it('logs a claim and a recording that failed, and goes on; not that Postgres is unavailable', async () => {
    failure = new Error('Connection terminated unexpectedly');
    await worker.wake();
    expect(logged).toEqual([]);
    failure = new Error('a defect');
    await worker.wake();
    expect(logged).toEqual([['warn', { err: failure }, 'due recordings not claimed']]);
    failure = null;
    due = ['a'];
    await worker.wake();
    const lost = new Error('no connection');
    runs[0]?.fail(lost);
    await turns();
    expect(logged.slice(1)).toEqual([['warn', { err: lost, recording_id: 'recording' }, 'recording not released']]);
    expect(worker.recordings).toBe(0);
  });
});
