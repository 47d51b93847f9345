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

describe('TranscriptionWorkerService', () => {
  /** Accounts of the recordings that are due, the next one first. */
  let due: string[];
  /** Accounts of those that wait behind all others. */
  let background: string[];
  /** The accounts that each claim left out. */
  let claims: (readonly string[])[];
  /** When Postgres answers the claims. */
  let answered: Promise<void>;
  let runs: { account: string; signal: AbortSignal; end: () => void }[];
  let hasDoubtfulLease: boolean;
  /** Of the engines of the service. */
  let problem: string | null;
  let decodingProblem: string | null;
  let worker: TranscriptionWorkerService;

  function workerOf(env: Partial<Env> = {}, maxRecordings = 4): TranscriptionWorkerService {
    const leases = {
      claimNext: async (except: readonly string[], { ofSharedEngines }: { ofSharedEngines: boolean }) => {
        claims.push(except);
        const next = due.findIndex(
          (account) => !except.includes(account) && (!ofSharedEngines || account === OWN_ENGINES),
        );
        const accountId = next < 0 ? null : due.splice(next, 1)[0];
        await answered;
        return accountId ? ({ id: 'recording', accountId } as Lease) : null;
      },
      claimBackground: async () => {
        const accountId = background.shift();
        return accountId ? ({ id: 'old', accountId, rerun: 'background' } as Lease) : null;
      },
    };
    const runner = {
      get hasDoubtfulLease() {
        return hasDoubtfulLease;
      },
      perform: ({ accountId: account }: Lease, signal: AbortSignal) =>
        new Promise<void>((end) => void runs.push({ account, signal, end })),
    };
    return new TranscriptionWorkerService(
      leases as unknown as RecordingLeasesService,
      {
        problem: async () => problem ?? decodingProblem,
        decodingProblem: async () => decodingProblem,
        postponements: { current: [] },
      } as unknown as EngineChainService,
      { maxRecordings } as unknown as EngineRuntimesService,
      runner as unknown as TranscriptionRunService,
      { transcriptionConcurrency: 2, reconcileSeconds: 5, ...env } as Env,
      { registry: new Registry() } as unknown as MetricsMiddleware,
    );
  }

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] });
    due = [];
    background = [];
    claims = [];
    answered = Promise.resolve();
    runs = [];
    hasDoubtfulLease = false;
    problem = null;
    decodingProblem = null;
    worker = workerOf();
    worker.onApplicationBootstrap();
  });

  afterEach(async () => {
    const stopped = worker.onModuleDestroy();
    for (const { end } of runs) end();
    await stopped;
    jest.useRealTimers();
  });

  const accounts = () => runs.map(({ account }) => account);

  it('starts what is due, and when it is full only recordings of further accounts, up to its maximum', async () => {
    due = ['a', 'a', 'a', 'b', 'b', 'c', 'd', 'e'];
    await worker.wake();
    expect(accounts()).toEqual(['a', 'a', 'b', 'c']);
    expect(claims).toEqual([[], [], ['a'], ['a', 'b']]);
    expect([worker.recordings, worker.isFull]).toEqual([4, true]);
  });

  it('takes a second recording of an account when it is full, in the half of its room that others do not need', async () => {
    worker = workerOf({}, 8);
    worker.onApplicationBootstrap();
    due = ['a', 'b', 'a', 'a', 'b', 'b', 'c'];
    await worker.wake();
    expect(accounts()).toEqual(['a', 'b', 'c', 'a']);
    expect(due).toEqual(['a', 'b', 'b']);
  });

  it('takes what is in the background only when nothing is due, a few at a time, which takes no room of others', async () => {
    worker = workerOf({}, 8);
    worker.onApplicationBootstrap();
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
    let answer = (): void => undefined;
    answered = new Promise((resolve) => (answer = resolve));
    const search = worker.wake();
    await turns();
    expect(claims).toHaveLength(1);
    // The claim that is under way did not see it.
    due = ['a'];
    const others = [worker.wake(), worker.wake()];
    answer();
    await Promise.all([search, ...others]);
    expect(accounts()).toEqual(['a']);
    expect(claims).toHaveLength(3);
  });

  it('looks every second, whatever Redis says', async () => {
    due = ['a'];
    await jest.advanceTimersByTimeAsync(1000);
    expect(accounts()).toEqual(['a']);
  });

  it('claims nothing while it cannot decode, or a lease of its own may have expired', async () => {
    due = ['a'];
    decodingProblem = 'ffmpeg is not installed';
    await worker.wake();
    decodingProblem = null;
    hasDoubtfulLease = true;
    await worker.wake();
    expect(claims).toEqual([]);
    hasDoubtfulLease = false;
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
});
