import { availableParallelism } from 'node:os';
import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Registry } from 'prom-client';
import { Env } from '../../../platform/config/env.js';
import { isDatabaseUnavailable } from '../../../platform/database/unavailable.js';
import { addGauge } from '../../../platform/observability/metrics.js';
import { isBackground, type Lease, RecordingLeasesService } from '../../recordings/leases/recording-leases.service.js';
import { EngineRuntimesService } from '../engines/engine-runtimes.service.js';
import { EngineChainService } from './engine-chain.service.js';
import { TranscriptionRunService, WorkerStoppingError } from './transcription-run.service.js';
import { TranscriptionServiceLevel } from './transcription-service-level.js';

/**
 * Recordings in progress per core. The engine transcribes their chunks in turn, so that more recordings than cores cost
 * little and short ones do not wait behind long ones.
 */
const RECORDINGS_PER_CORE = 4;
/**
 * With that many in progress an account still gets this many, up to `MAX_RECORDINGS` (D33). The second is decoded while
 * the first is transcribed: without it, an account of short recordings would lose the time of its decoder each time.
 */
const RECORDINGS_PER_ACCOUNT = 2;
const MAX_RECORDINGS = 64;
/** Recordings in the background at a time: enough for their chunks to use what slots are free. */
const BACKGROUND_PER_CORE = 1;
/** Looks for due recordings this often, whatever Redis says. */
const POLL_MS = 1000;

/**
 * Claims due recordings and transcribes them. Which one is next is decided by Postgres: a job of the queue, the end of a
 * recording and a clock only start the search. So nothing is lost with a job, and a worker also works without Redis.
 */
@Injectable()
export class TranscriptionWorkerService implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(TranscriptionWorkerService.name);
  private readonly stopping = new AbortController();
  private readonly running = new Map<Promise<void>, Lease>();
  private readonly serviceLevel: TranscriptionServiceLevel;
  private readonly limits: { shared: number; maximum: number; background: number };
  private search: Promise<void> | null = null;
  private searchAgain = false;
  private started = false;
  private poll: NodeJS.Timeout | undefined;
  private lastProblem: string | null = null;

  constructor(
    private readonly leases: RecordingLeasesService,
    private readonly chain: EngineChainService,
    runtimes: EngineRuntimesService,
    private readonly runs: TranscriptionRunService,
    private readonly env: Env,
    registry: Registry,
  ) {
    const help = 'Recordings that this process transcribes.';
    addGauge(registry, 'transcription_recordings', help, () => this.running.size);
    this.serviceLevel = new TranscriptionServiceLevel(registry);
    const shared = env.transcriptionConcurrency ?? RECORDINGS_PER_CORE * availableParallelism();
    const maximum = Math.min(Math.max(shared, MAX_RECORDINGS), runtimes.maxRecordings);
    const background = Math.ceil((shared * BACKGROUND_PER_CORE) / RECORDINGS_PER_CORE);
    this.limits = { shared: Math.min(shared, maximum), maximum, background };
  }

  /** Recordings in progress. */
  get recordings(): number {
    return this.running.size;
  }

  /** If so, it takes only recordings of accounts with few or none in progress here. */
  get isFull(): boolean {
    return this.foregroundAccounts.length >= this.limits.shared;
  }

  /** Ids of the recordings in progress. */
  private get held(): string[] {
    return [...this.running.values()].map(({ id }) => id);
  }

  /** The account of each recording in progress that is not in the background. */
  private get foregroundAccounts(): string[] {
    return [...this.running.values()].filter((lease) => !isBackground(lease)).map(({ accountId }) => accountId);
  }

  /** Now every listener of a recording's events is registered. */
  onApplicationBootstrap(): void {
    this.started = true;
    if (this.env.reconcileSeconds > 0) this.poll = setInterval(() => void this.wake(), POLL_MS);
  }

  /** The first shutdown hook: running recordings are released while Postgres and Redis are still connected. */
  async onModuleDestroy(): Promise<void> {
    clearInterval(this.poll);
    this.stopping.abort(new WorkerStoppingError());
    await this.search;
    await Promise.allSettled(this.running.keys());
  }

  /** Starts what is due, as far as its limits allow. Calls during a search lead to one more. Never throws. */
  async wake(): Promise<void> {
    this.searchAgain = true;
    this.search ??= this.searchAll().finally(() => {
      this.search = null;
    });
    await this.search;
  }

  /** Null when the engine can work. */
  async problem(): Promise<string | null> {
    const problem = await this.chain.problem();
    if (problem !== this.lastProblem && problem !== null)
      this.logger.error({ problem }, 'transcription engine unavailable');
    if (problem === null && this.lastProblem !== null) this.logger.log('transcription engine available again');
    this.lastProblem = problem;
    return problem;
  }

  private async searchAll(): Promise<void> {
    try {
      while (this.searchAgain && this.canStart) {
        this.searchAgain = false;
        const problem = await this.problem();
        if ((await this.chain.decodingProblem()) !== null) return;
        const lease = await this.claim(problem !== null);
        if (!lease) continue;
        this.start(lease);
        this.searchAgain = true;
      }
    } catch (error) {
      // The poll repeats it every second, and the log says elsewhere that Postgres is unavailable.
      if (!isDatabaseUnavailable(error)) this.logger.warn({ err: error }, 'due recordings not claimed');
    }
  }

  private get canStart(): boolean {
    return this.started && !this.stopping.signal.aborted && this.running.size < this.limits.maximum;
  }

  /** What is in the background only when nothing else is due, and the engines of the service work. */
  private async claim(sharedEnginesDown: boolean): Promise<Lease | null> {
    const next = await this.claimDue(sharedEnginesDown);
    const inBackground = this.running.size - this.foregroundAccounts.length;
    if (next || sharedEnginesDown || inBackground >= this.limits.background) return next;
    return await this.leases.claimBackground(this.held);
  }

  /**
   * A full worker considers accounts of which it transcribes nothing, then those with one recording in progress. A claim
   * without a working engine would only delay the recording.
   */
  private async claimDue(sharedEnginesDown: boolean): Promise<Lease | null> {
    const except = { sharedEnginesDown, others: this.chain.postponements.current };
    const claimNext = async (exceptAccounts: string[]): Promise<Lease | null> =>
      await this.leases.claimNext({ held: this.held, exceptAccounts, except });
    if (!this.isFull) return await claimNext([]);
    const next = await claimNext(this.accountsWith(1));
    // Half of the capacity is reserved for accounts without any.
    if (next || this.running.size >= this.limits.maximum / 2) return next;
    return await claimNext(this.accountsWith(RECORDINGS_PER_ACCOUNT));
  }

  /** Accounts with at least so many recordings in progress. */
  private accountsWith(count: number): string[] {
    const accounts = this.foregroundAccounts;
    return [...new Set(accounts)].filter((id) => accounts.filter((other) => other === id).length >= count);
  }

  private start(lease: Lease): void {
    const ended = this.serviceLevel.begin(lease);
    const run = this.runs
      .perform(lease, this.stopping.signal)
      .then(ended)
      .catch((error: unknown) => this.logger.warn({ err: error, recording_id: lease.id }, 'recording not released'))
      .finally(() => {
        this.running.delete(run);
        void this.wake();
      });
    this.running.set(run, lease);
  }
}
