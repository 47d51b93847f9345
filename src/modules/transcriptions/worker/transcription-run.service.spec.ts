import type { Env } from '../../../platform/config/env.js';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import type { ObjectStore } from '../../../platform/storage/object-store.js';
import { ObjectNotFoundError, StorageUnavailableError } from '../../../platform/storage/storage-errors.js';
import type { Lease, Outcome, RecordingLeasesService } from '../../recordings/leases/recording-leases.service.js';
import { NoEngineError } from '../engines/chain/engine-failures.js';
import { AudioRejectedError } from '../engines/transcription-engine.js';
import type { TranscriptSignalsService } from '../transcript-signals.service.js';
import type { TranscriptionJob } from '../transcriptions.queue.js';
import type { EngineChainService } from './engine-chain.service.js';
import { TranscriptionRunService, WorkerStoppingError } from './transcription-run.service.js';

const LEASE = {
  id: 'recording',
  leaseToken: 'token',
  durationMs: 1000,
  attempt: 1,
  faults: 0,
  vocabulary: null,
  accountVocabulary: [] as string[],
} as Lease;
const RESULT = {
  text: '',
  confidence: 0,
  language: 'english',
  words: [],
  peaks: Buffer.alloc(0),
  speechSeconds: 0,
  noSpeech: true,
  provider: 'fake',
  model: 'fake',
};

/** What the store and the engine do with one recording, until the test lets them end. */
interface Work {
  signal: AbortSignal;
  finish: () => void;
  fail: (error: Error) => void;
}

describe('TranscriptionRunService', () => {
  let written: string[];
  let renewals: () => Promise<boolean>;
  let renewed: number;
  /** What the chain finds. */
  let candidates: () => Promise<object>;
  let work: Work | undefined;
  let service: TranscriptionRunService;
  let stopping: AbortController;

  beforeEach(() => {
    jest.useFakeTimers();
    written = [];
    renewals = () => Promise.resolve(true);
    renewed = 0;
    candidates = () => Promise.resolve({});
    work = undefined;
    stopping = new AbortController();
    const leases = {
      renew: () => {
        renewed++;
        return renewals();
      },
      finish: async (_: Lease, { status, ...rest }: Outcome) =>
        void written.push(`${status}${'reason' in rest ? `: ${rest.reason}` : ''}`),
      putBack: async () => void written.push('put back'),
      release: async (_: Lease, { delaySeconds = 0, attempts = 0, faults = 0 } = {}) =>
        void written.push(`released ${delaySeconds} ${attempts} ${faults}`),
    };
    const store = {
      withFile: (_key: string, use: (file: string) => Promise<unknown>, signal: AbortSignal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
          work = { signal, finish: () => void use('file').then(resolve, reject), fail: reject };
        }),
    };
    const chain = { candidatesFor: () => candidates(), transcribe: async () => RESULT };
    const jobs = { enqueue: async ({ recordingId }: TranscriptionJob) => void written.push(`enqueued ${recordingId}`) };
    service = new TranscriptionRunService(
      leases as unknown as RecordingLeasesService,
      chain as unknown as EngineChainService,
      store as unknown as ObjectStore,
      jobs as unknown as JobQueue<TranscriptionJob>,
      { leaseSeconds: 60 } as Env,
      { publish: () => undefined } as unknown as TranscriptSignalsService,
    );
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  const pass = (seconds: number) => jest.advanceTimersByTimeAsync(seconds * 1000);
  const perform = () => service.perform(LEASE, stopping.signal);

  it('renews the lease four times in its length while it works, and no more when it has ended', async () => {
    const run = perform();
    await pass(60);
    expect(renewed).toBe(4);
    work?.finish();
    await run;
    expect(written).toEqual(['transcribed']);
    await pass(120);
    expect(renewed).toBe(4);
  });

  it('ends the work at the first renewal that finds the lease lost, and writes nothing', async () => {
    renewals = () => Promise.resolve(false);
    const run = perform();
    await pass(14);
    expect(work?.signal.aborted).toBe(false);
    await pass(1);
    expect(work?.signal.aborted).toBe(true);
    await run;
    expect(written).toEqual([]);
  });

  it('goes on while Postgres does not answer, however long, and saves what it has then', async () => {
    renewals = () => Promise.reject(new Error('no connection'));
    const run = perform();
    await pass(600);
    expect(work?.signal.aborted).toBe(false);
    renewals = () => Promise.resolve(true);
    await pass(15);
    work?.finish();
    await run;
    expect(written).toEqual(['transcribed']);
  });

  it('releases the recording and wakes another worker when it is stopped', async () => {
    const run = perform();
    stopping.abort(new WorkerStoppingError());
    await run;
    expect(written).toEqual(['released 0 0 0', 'enqueued recording']);
  });

  it('fails a recording whose audio is gone', async () => {
    const run = perform();
    await pass(0);
    work?.fail(new ObjectNotFoundError('Object not found: key'));
    await run;
    expect(written).toEqual(['failed: The audio is no longer in storage.']);
  });

  it('waits longer the longer the storage is unavailable, and starts again at the shortest wait once it works', async () => {
    const attempt = async (end: (of: Work) => void): Promise<void> => {
      const run = perform();
      await pass(0);
      end(work as Work);
      await run;
    };
    const storageIsAway = () => attempt(({ fail }) => fail(new StorageUnavailableError('no answer')));
    await storageIsAway();
    await pass(20);
    await storageIsAway();
    await attempt(({ finish }) => finish());
    await storageIsAway();
    expect(written).toEqual(['released 5 0 0', 'released 20 0 0', 'transcribed', 'released 5 0 0']);
  });

  it('gives a recording back unchanged when no engine for it works, and waits when one was tried', async () => {
    candidates = () => Promise.reject(new NoEngineError('the engine is down', 40, false));
    await perform();
    candidates = () => Promise.reject(new NoEngineError('the engine is down', 40, true));
    await perform();
    candidates = () => Promise.reject(new NoEngineError('the engine is down', 40, false));
    await service.perform({ ...LEASE, rerun: 'background' }, stopping.signal);
    expect(written).toEqual(['put back', 'released 40 0 0', 'released 40 0 0']);
  });

  it('fails a recording whose language no engine takes, before its audio is read', async () => {
    candidates = () => Promise.reject(new AudioRejectedError('Language not supported: german.'));
    await perform();
    expect(work).toBeUndefined();
    expect(written).toEqual(['failed: Language not supported: german.']);
  });
});
