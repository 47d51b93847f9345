import type { Env } from '../../../src/platform/config/env.js';
import type { JobQueue } from '../../../src/platform/queue/job-queue.js';
import type { ObjectStore } from '../../../src/platform/storage/object-store.js';
import type {
  Lease,
  Outcome,
  RecordingLeasesService,
} from '../../../src/modules/recordings/leases/recording-leases.service.js';
import type { PartialTextsService } from '../../../src/modules/transcriptions/partial-texts.service.js';
import type { TranscriptSignalsService } from '../../../src/modules/transcriptions/transcript-signals.service.js';
import type { TranscriptionJob } from '../../../src/modules/transcriptions/transcriptions.listener.js';
import type {
  ChainInput,
  EngineChainService,
} from '../../../src/modules/transcriptions/worker/engine-chain.service.js';
import { TextProgressService } from '../../../src/modules/transcriptions/worker/text-progress.service.js';
import type { TranscriptionResult } from '../../../src/modules/transcriptions/worker/transcriber.service.js';
import {
  type EndedRun,
  TranscriptionRunService,
} from '../../../src/modules/transcriptions/worker/transcription-run.service.js';

export const LEASE = {
  id: 'recording',
  leaseToken: 'token',
  durationMs: 1000,
  bitRate: 64_000,
  rerun: null,
  attempt: 1,
  faults: 0,
  vocabulary: null,
  speakers: null,
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
export interface Work {
  signal: AbortSignal;
  finish: () => void;
  fail: (error: Error) => void;
}

/** TranscriptionRunService with parts whose answers the test decides; needs Jest's fake timers. */
export class RunSetup {
  /** What became of the recordings, in order: "transcribed", "released <delay> <attempts> <faults>", … */
  readonly written: string[] = [];
  readonly published: unknown[] = [];
  /** Deduplication keys of the jobs. */
  readonly jobKeys: (string | undefined)[] = [];
  readonly stopping = new AbortController();
  result: TranscriptionResult & { provider: string; model: string } = { ...RESULT };
  renewal: () => Promise<boolean> = () => Promise.resolve(true);
  renewals = 0;
  /** How Postgres answers the next finishes; then it takes them. */
  refusals: Error[] = [];
  /** What the chain finds. */
  candidates: () => Promise<object> = () => Promise.resolve({});
  decodingProblem: string | null = null;
  /** Seconds that are decoded without an engine. */
  measured = 3;
  /** Whether the month has room for the decoded length. */
  fits = true;
  /** What the chain throws before it transcribes, in order. */
  errors: Error[] = [];
  /** What the chain was asked for candidates. */
  asked: unknown[] = [];
  /** What the chain was given to transcribe. */
  given: ChainInput | undefined;
  outcome: Outcome | undefined;
  work: Work | undefined;

  private readonly service = new TranscriptionRunService(
    {
      renew: () => {
        this.renewals++;
        return this.renewal();
      },
      finish: async (_: Lease, outcome: Outcome) => {
        const refusal = this.refusals.shift();
        if (refusal) throw refusal;
        this.outcome = outcome;
        this.written.push(outcome.status === 'failed' ? `failed: ${outcome.reason}` : outcome.status);
        return true;
      },
      settleLength: async (lease: Lease, durationMs: number) => {
        this.written.push(`settled ${durationMs}`);
        return this.fits ? { ...lease, durationMs } : null;
      },
      putBack: async () => void this.written.push('put back'),
      release: async (_: Lease, { delaySeconds = 0, attempts = 0, faults = 0 } = {}) =>
        void this.written.push(`released ${delaySeconds} ${attempts} ${faults}`),
    } as unknown as RecordingLeasesService,
    {
      candidatesFor: (...args: unknown[]) => {
        this.asked = args;
        return this.candidates();
      },
      measure: async () => {
        this.written.push('measured');
        return this.measured;
      },
      transcribe: async (_: object, input: ChainInput) => {
        this.given = input;
        this.written.push(...(this.errors.length > 0 ? ['refused'] : []));
        const error = this.errors.shift();
        if (error) throw error;
        input.onText({ offset: 3, text: ' there' }, { name: 'fake', model: 'fake-1' });
        return this.result;
      },
      decodingProblem: async () => this.decodingProblem,
    } as unknown as EngineChainService,
    {
      withFile: (_key: string, use: (file: string) => Promise<unknown>, signal: AbortSignal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
          this.work = { signal, finish: () => void use('file').then(resolve, reject), fail: reject };
        }),
    } as unknown as ObjectStore,
    {
      enqueue: async ({ recordingId }: TranscriptionJob, { deduplicationKey }: { deduplicationKey?: string }) => {
        this.written.push(`enqueued ${recordingId}`);
        this.jobKeys.push(deduplicationKey);
      },
    } as unknown as JobQueue<TranscriptionJob>,
    { leaseSeconds: 60 } as Env,
    new TextProgressService(
      { publish: (...signal: unknown[]) => void this.published.push(signal) } as unknown as TranscriptSignalsService,
      {} as PartialTextsService,
    ),
  );

  /** Begins a run, which waits for the store. */
  perform(lease = LEASE): Promise<EndedRun | null> {
    return this.service.perform(lease, this.stopping.signal);
  }

  /** Runs until the end; the store gives the file, or what `end` says. */
  async performed(lease = LEASE, end: (work: Work) => void = ({ finish }) => finish()): Promise<EndedRun | null> {
    const run = this.perform(lease);
    await pass(0);
    end(this.work as Work);
    return await run;
  }
}

/** Moves the fake clock on. */
export async function pass(seconds: number): Promise<void> {
  await jest.advanceTimersByTimeAsync(seconds * 1000);
}
