import { Logger } from '@nestjs/common';
import type { Env } from '../../../platform/config/env.js';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import type { ObjectStore } from '../../../platform/storage/object-store.js';
import type { Lease, Outcome, RecordingLeasesService } from '../../recordings/leases/recording-leases.service.js';
import { EngineError } from '../engines/transcription-engine.js';
import type { TranscriptSignalsService } from '../transcript-signals.service.js';
import type { TranscriptionJob } from '../transcriptions.queue.js';
import type { ChainInput, EngineChainService } from './engine-chain.service.js';
import type { TranscriptionResult } from './transcriber.service.js';
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
  durationSeconds: 0,
  noSpeech: true,
  provider: 'fake',
  model: 'fake',
};

/** What the store and the engine do with one recording, until the test lets them end. */
interface Work {
  finish: () => void;
  fail: (error: Error) => void;
}

/** Everything that an engine may be told. */
const TOLD = {
  accountId: 'account',
  sampleRate: 48_000,
  channels: 2,
  separateChannels: true,
  language: 'english',
};

describe('the end of an attempt of TranscriptionRunService', () => {
  let written: string[];
  let result: TranscriptionResult & { provider: string; model: string };
  /** What the chain finds. */
  let candidates: () => Promise<object>;
  /** What it was asked. */
  let asked: unknown[];
  let given: ChainInput | undefined;
  let decodingProblem: string | null;
  let outcome: Outcome | undefined;
  /** How Postgres answers the next finishes; then it takes them. */
  let refusals: Error[];
  let published: unknown[];
  let jobKeys: (string | undefined)[];
  let work: Work | undefined;
  let service: TranscriptionRunService;
  let stopping: AbortController;

  beforeEach(() => {
    jest.useFakeTimers();
    written = [];
    result = { ...RESULT };
    candidates = () => Promise.resolve({});
    asked = [];
    given = undefined;
    decodingProblem = null;
    outcome = undefined;
    refusals = [];
    published = [];
    jobKeys = [];
    work = undefined;
    stopping = new AbortController();
    const leases = {
      renew: async () => true,
      finish: async (_: Lease, ending: Outcome) => {
        const refusal = refusals.shift();
        if (refusal) throw refusal;
        outcome = ending;
        written.push(ending.status === 'failed' ? `failed: ${ending.reason}` : ending.status);
      },
      release: async (_: Lease, { delaySeconds = 0, attempts = 0, faults = 0 } = {}) =>
        void written.push(`released ${delaySeconds} ${attempts} ${faults}`),
    };
    const store = {
      withFile: (_key: string, use: (file: string) => Promise<unknown>, signal: AbortSignal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
          work = { finish: () => void use('file').then(resolve, reject), fail: reject };
        }),
    };
    const chain = {
      candidatesFor: (...args: unknown[]) => {
        asked = args;
        return candidates();
      },
      transcribe: async (_: object, input: ChainInput) => {
        given = input;
        input.onText({ offset: 3, text: ' there' }, { name: 'fake', model: 'fake-1' });
        return result;
      },
      decodingProblem: async () => decodingProblem,
    };
    const jobs = {
      enqueue: async ({ recordingId }: TranscriptionJob, { deduplicationKey }: { deduplicationKey?: string }) => {
        written.push(`enqueued ${recordingId}`);
        jobKeys.push(deduplicationKey);
      },
    };
    service = new TranscriptionRunService(
      leases as unknown as RecordingLeasesService,
      chain as unknown as EngineChainService,
      store as unknown as ObjectStore,
      jobs as unknown as JobQueue<TranscriptionJob>,
      { leaseSeconds: 60 } as Env,
      { publish: (...signal: unknown[]) => void published.push(signal) } as unknown as TranscriptSignalsService,
    );
  });

  beforeAll(() => Logger.overrideLogger(false));
  afterAll(() => Logger.overrideLogger(true));

  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const pass = (seconds: number) => jest.advanceTimersByTimeAsync(seconds * 1000);
  const perform = () => service.perform(LEASE, stopping.signal);

  /** Lets the store give the file, or fail. */
  async function performed(lease: Lease, end: (of: Work) => void = ({ finish }) => finish()): Promise<void> {
    const run = service.perform(lease, stopping.signal);
    await pass(0);
    end(work as Work);
    await run;
  }

  it('tells the engines what is known of the recording, and of its text who listens', async () => {
    const lease = {
      ...LEASE,
      ...TOLD,
      audioFormat: 'ogg',
      attempt: 3,
      requestedEngine: 'one',
      rerun: 'quiet',
    } as Lease;
    await performed({ ...lease, vocabulary: ['Zoë'], accountVocabulary: ['Grafana'] });
    expect(asked).toMatchObject([{ id: 'recording' }, 'one']);
    expect(given).toMatchObject({ ...TOLD, file: 'file', format: 'ogg', probedSeconds: 1, isBackground: true });
    expect(given?.vocabulary).toEqual({ upload: ['Zoë'], account: ['Grafana'] });
    const piece = { type: 'chunk', attempt: 3, offset: 3, text: ' there', provider: 'fake', model: 'fake-1' };
    expect(published).toEqual([['recording', piece]]);
    await performed(LEASE);
    expect(given).toMatchObject({ isBackground: false });
    expect(given).not.toHaveProperty('vocabulary');
  });

  it('writes what was heard, how long it is, and how long that took, all in milliseconds', async () => {
    const heard = { text: 'hi', confidence: 0.5, language: 'german', words: [], model: 'm' };
    result = { ...result, ...heard, durationSeconds: 1.2346, speechSeconds: 0.5, noSpeech: false };
    const run = perform();
    await pass(2.5);
    work?.finish();
    await run;
    expect(outcome).toEqual({
      status: 'transcribed',
      transcript: { ...heard, provider: 'fake', processingDurationMs: 2500 },
      features: { speech_seconds: 0.5, no_speech: false },
      durationMs: 1235,
      peaks: RESULT.peaks,
    });
    result = { ...result, vocabulary: ['Zoë'], punctuationAdded: true };
    await performed({ ...LEASE, ...TOLD });
    expect(outcome).toMatchObject({ features: { channels: 2, vocabulary: ['Zoë'], punctuation: 'added' } });
  });

  it.each([
    { attempt: 1, seconds: 2 },
    { attempt: 5, seconds: 32 },
    { attempt: 10, seconds: 1024 },
    { attempt: 11, seconds: 1800 },
    { attempt: 19, seconds: 1800 },
  ])('waits $seconds s after attempt $attempt, and counts it', async ({ attempt, seconds }) => {
    await performed({ ...LEASE, attempt }, ({ fail }) => fail(new EngineError('answered 500', false)));
    await performed({ ...LEASE, attempt, faults: 3 }, ({ fail }) => fail(new EngineError('lost', true)));
    await performed({ ...LEASE, attempt, faults: 3 }, ({ fail }) => fail(new Error('unknown')));
    expect(written).toEqual([`released ${seconds} 1 0`, `released ${seconds} 1 1`, `released ${seconds} 1 1`]);
  });

  it('fails at the fifth crash, and logs each attempt that failed', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn');
    const error = new EngineError('lost', true);
    await performed({ ...LEASE, attempt: 7, faults: 4 }, ({ fail }) => fail(error));
    await performed({ ...LEASE, faults: 4 }, ({ fail }) => fail(new EngineError('answered 500', false)));
    expect(written).toEqual(['failed: The engine crashed 5 times on this recording.', 'released 2 1 0']);
    const fields = { err: error, recording_id: 'recording', attempt: 7 };
    expect(warn.mock.calls[0]).toEqual([fields, 'transcription attempt failed']);
  });

  it('counts nothing while the decoder of the process does not work, but for a crash', async () => {
    decodingProblem = 'ffmpeg is not installed';
    await performed(LEASE, ({ fail }) => fail(new EngineError('not started', false)));
    await performed(LEASE, ({ fail }) => fail(new EngineError('lost', true)));
    expect(written).toEqual(['released 5 0 0', 'released 2 1 1']);
  });

  it('reads no audio when it was stopped while it looked for engines', async () => {
    candidates = async () => {
      stopping.abort(new WorkerStoppingError());
      return {};
    };
    await perform();
    expect(work).toBeUndefined();
    expect(written).toEqual(['released 0 0 0', 'enqueued recording']);
    await pass(0.001);
    await perform();
    expect(new Set(jobKeys).size).toBe(2);
  });

  it('writes the transcript once Postgres is back, unless it is stopped before', async () => {
    refusals = Array.from({ length: 3 }, () => new Error('Connection terminated unexpectedly'));
    const run = perform();
    await pass(0);
    work?.finish();
    await pass(0.8);
    expect(written).toEqual([]);
    await pass(0.2);
    await run;
    expect(written).toEqual(['transcribed']);
    refusals = Array.from({ length: 100 }, () => new Error('Connection terminated unexpectedly'));
    const stopped = perform();
    await pass(0);
    work?.finish();
    await pass(1);
    stopping.abort(new WorkerStoppingError());
    await stopped;
    expect(written).toEqual(['transcribed', 'released 0 0 0', 'enqueued recording']);
  });
});
