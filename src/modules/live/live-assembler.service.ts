import { randomUUID } from 'node:crypto';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import { Env } from '../../platform/config/env.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { retryWhileUnavailable } from '../../platform/database/unavailable.js';
import { DiskSpaceService } from '../../platform/storage/disk-space.service.js';
import { type AssemblyLease, claimAssembly, releaseAssembly, renewAssembly } from './live-assemblies.queries.js';
import { AssemblyLostError, LiveFilesService } from './live-files.service.js';

/** Files that one process makes at the same time. */
const MAX_ASSEMBLIES = 4;
/** Before the next attempt after an error of the service: doubled each time. */
const RETRY_SECONDS = 2;
const MAX_RETRY_SECONDS = 60;

/** Has the file of each live recording made that has ended (D91). LiveReconciler wakes it. */
@Injectable()
export class LiveAssemblerService implements OnModuleDestroy {
  private readonly logger = new Logger(LiveAssemblerService.name);
  private readonly stopping = new AbortController();
  private readonly loops = new Set<Promise<void>>();
  /** The account of each assembly under way. */
  private readonly held: string[] = [];
  private readonly outcomes: Counter<'outcome'>;

  constructor(
    private readonly files: LiveFilesService,
    private readonly database: DatabaseService,
    private readonly disk: DiskSpaceService,
    private readonly env: Env,
    registry: Registry,
  ) {
    this.outcomes = new Counter({
      name: 'live_assemblies_total',
      help: 'Attempts to make the file of a live recording that have ended, by their outcome (D91).',
      labelNames: ['outcome'],
      registers: [registry],
    });
  }

  /** Looks for what has ended, unless as many files are being made as may be; then it looks when one is done. */
  wake(): void {
    if (this.stopping.signal.aborted || this.loops.size >= MAX_ASSEMBLIES) return;
    const loop = this.run()
      .catch((error: unknown) => this.logger.warn({ err: error }, 'live recordings could not be claimed'))
      .finally(() => this.loops.delete(loop));
    this.loops.add(loop);
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort(new Error('the service stops'));
    await Promise.all(this.loops);
  }

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      const lease = await this.claim();
      if (!lease) return;
      this.held.push(lease.accountId);
      // There may be more, for a loop beside this one.
      this.wake();
      await this.assemble(lease).finally(() => this.held.splice(this.held.indexOf(lease.accountId), 1));
    }
  }

  private async claim(): Promise<AssemblyLease | null> {
    // The parts stay where they are. Nothing of them goes before the file is stored.
    if (!(await this.disk.hasRoom())) return null;
    const { leaseSeconds } = this.env;
    const exceptAccounts = this.fullAccounts();
    return await claimAssembly(this.database, { token: randomUUID(), leaseSeconds, exceptAccounts });
  }

  /** Accounts that hold as many assemblies as are free: long recordings of one account leave some to the others. */
  private fullAccounts(): string[] {
    const free = MAX_ASSEMBLIES - this.held.length;
    const countOf = (accountId: string): number => this.held.filter((id) => id === accountId).length;
    return [...new Set(this.held)].filter((accountId) => countOf(accountId) >= free);
  }

  private async assemble(lease: AssemblyLease): Promise<void> {
    const attempt = new AbortController();
    const stop = (): void => attempt.abort(this.stopping.signal.reason);
    this.stopping.signal.addEventListener('abort', stop);
    const timer = this.keepLease(lease, attempt);
    try {
      const outcome = await this.files.make(lease, attempt.signal);
      this.outcomes.inc({ outcome });
      await this.files.deleteAssembled();
    } catch (error) {
      await this.postpone(lease, attempt.signal.aborted ? attempt.signal.reason : error).catch((failure: unknown) =>
        this.logger.warn({ err: failure, recording_id: lease.recordingId }, 'live recording not released'),
      );
    } finally {
      clearInterval(timer);
      this.stopping.signal.removeEventListener('abort', stop);
    }
  }

  /** Whatever the error, another attempt follows: what was acknowledged is never given up. */
  private async postpone(lease: AssemblyLease, error: unknown): Promise<void> {
    if (error instanceof AssemblyLostError) return;
    const { signal } = this.stopping;
    if (signal.aborted && error === signal.reason) return await releaseAssembly(this.database, lease, 0);
    this.outcomes.inc({ outcome: 'postponed' });
    this.logger.warn({ err: error, recording_id: lease.recordingId }, 'live recording not stored');
    const delaySeconds = Math.min(RETRY_SECONDS * 2 ** (lease.claims - 1), MAX_RETRY_SECONDS);
    await retryWhileUnavailable(() => releaseAssembly(this.database, lease, delaySeconds), { signal });
  }

  /** Renews the lease, and ends the attempt when it is lost. While Postgres is unavailable it goes on. */
  private keepLease(lease: AssemblyLease, attempt: AbortController): NodeJS.Timeout {
    const renew = async (): Promise<void> => {
      const isHeld = await renewAssembly(this.database, lease, this.env.leaseSeconds).catch(() => true);
      if (!isHeld) attempt.abort(new AssemblyLostError());
    };
    return setInterval(() => void renew(), (this.env.leaseSeconds * 1000) / 3);
  }
}
