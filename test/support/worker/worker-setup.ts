import { Registry } from 'prom-client';
import type { Env } from '../../../src/platform/config/env.js';
import type { Lease, RecordingLeasesService } from '../../../src/modules/recordings/leases/recording-leases.service.js';
import type { EngineRuntimesService } from '../../../src/modules/transcriptions/engines/engine-runtimes.service.js';
import type { EngineChainService } from '../../../src/modules/transcriptions/worker/engine-chain.service.js';
import type { TranscriptionRunService } from '../../../src/modules/transcriptions/worker/transcription-run.service.js';
import { TranscriptionWorkerService } from '../../../src/modules/transcriptions/worker/transcription-worker.service.js';

/** An account with engines of its own. */
export const OWN_ENGINES = 'own';

interface Claim {
  held: readonly string[];
  exceptAccounts: readonly string[];
  except: { sharedEnginesDown: boolean; others: unknown };
}

interface Run {
  account: string;
  signal: AbortSignal;
  end: () => void;
  fail: (error: Error) => void;
}

/** TranscriptionWorkerService with recordings that the test names by their account and ends itself. */
export class WorkerSetup {
  /** Accounts of the recordings that are due, the next one first. */
  due: string[] = [];
  /** Accounts of those that wait behind all others. */
  background: string[] = [];
  /** The accounts that each claim left out. */
  readonly claims: (readonly string[])[] = [];
  /** The recordings that each claim said the worker holds. */
  readonly holdings: (readonly string[])[] = [];
  /** What each claim left out besides. */
  readonly others: unknown[] = [];
  /** What the next claim fails with. */
  failure: Error | null = null;
  readonly runs: Run[] = [];
  /** Of the engines of the service. */
  problem: string | null = null;
  decodingProblem: string | null = null;
  registry = new Registry();
  /** When Postgres answers the claims. */
  private answered: Promise<void> = Promise.resolve();

  get accounts(): string[] {
    return this.runs.map(({ account }) => account);
  }

  /** @returns what lets Postgres answer the claims again. */
  holdAnswers(): () => void {
    let answer = (): void => undefined;
    this.answered = new Promise((resolve) => (answer = resolve));
    return () => answer();
  }

  worker(env: Partial<Env> = {}, maxRecordings = 4): TranscriptionWorkerService {
    this.registry = new Registry();
    return new TranscriptionWorkerService(
      {
        claimNext: (claim: Claim) => this.claimNext(claim),
        claimBackground: async (held: readonly string[]) => {
          this.holdings.push(held);
          const accountId = this.background.shift();
          return accountId ? ({ id: 'old', accountId, rerun: 'background' } as Lease) : null;
        },
      } as unknown as RecordingLeasesService,
      {
        problem: async () => this.problem ?? this.decodingProblem,
        decodingProblem: async () => this.decodingProblem,
        postponements: { current: ['postponed'] },
      } as unknown as EngineChainService,
      { maxRecordings } as unknown as EngineRuntimesService,
      {
        perform: ({ accountId: account }: Lease, signal: AbortSignal) =>
          new Promise<void>((end, fail) => void this.runs.push({ account, signal, end, fail })),
      } as unknown as TranscriptionRunService,
      { transcriptionConcurrency: 2, reconcileSeconds: 5, ...env } as Env,
      this.registry,
    );
  }

  private async claimNext({
    held,
    exceptAccounts,
    except: { sharedEnginesDown, others },
  }: Claim): Promise<Lease | null> {
    this.claims.push(exceptAccounts);
    this.holdings.push(held);
    this.others.push(others);
    if (this.failure) throw this.failure;
    const next = this.due.findIndex(
      (account) => !exceptAccounts.includes(account) && (!sharedEnginesDown || account === OWN_ENGINES),
    );
    const accountId = next < 0 ? null : this.due.splice(next, 1)[0];
    await this.answered;
    return accountId ? ({ id: 'recording', accountId } as Lease) : null;
  }
}
