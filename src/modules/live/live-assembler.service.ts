import { randomUUID } from 'node:crypto';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import { LeaseLoops } from '../../platform/concurrency/lease-loops.js';
import { Env } from '../../platform/config/env.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { retryWhileUnavailable } from '../../platform/database/unavailable.js';
import { DiskSpaceService } from '../../platform/storage/disk-space.service.js';
import { releaseLease, renewLease } from '../../platform/database/leases.queries.js';
import { ASSEMBLIES, type AssemblyLease, claimAssembly } from './live-assemblies.queries.js';
import { LiveFilesService } from './live-files.service.js';

/** Files that one process makes at the same time. */
const MAX_ASSEMBLIES = 4;
/** Before the next attempt after an error of the service: doubled each time. */
const RETRY_SECONDS = 2;
const MAX_RETRY_SECONDS = 60;

/** Has the file of each live recording made that has ended (D91). LiveReconciler wakes it. */
@Injectable()
export class LiveAssemblerService implements OnModuleDestroy {
  private readonly logger = new Logger(LiveAssemblerService.name);
  private readonly loops: LeaseLoops<AssemblyLease>;
  private readonly outcomes: Counter<'outcome'>;

  constructor(
    private readonly files: LiveFilesService,
    private readonly database: DatabaseService,
    private readonly disk: DiskSpaceService,
    env: Env,
    registry: Registry,
  ) {
    const { leaseSeconds } = env;
    this.loops = new LeaseLoops(
      {
        limit: MAX_ASSEMBLIES,
        leaseSeconds,
        claim: (exceptAccounts) => this.claim(exceptAccounts, leaseSeconds),
        renew: (lease) => renewLease(this.database, ASSEMBLIES, lease, leaseSeconds),
        perform: (lease, { signal }) => this.assemble(lease, signal),
        fail: (lease, error, stopping) => this.postpone(lease, error, stopping),
        release: (lease) => releaseLease(this.database, ASSEMBLIES, lease, 0),
        messages: { notClaimed: 'live recordings could not be claimed', notSaved: 'live recording not released' },
      },
      this.logger,
    );
    this.outcomes = new Counter({
      name: 'live_assemblies_total',
      help: 'Attempts to make the file of a live recording that have ended, by their outcome (D91).',
      labelNames: ['outcome'],
      registers: [registry],
    });
  }

  /** Looks for what has ended, unless as many files are being made as may be; then it looks when one is done. */
  wake(): void {
    this.loops.wake();
  }

  async onModuleDestroy(): Promise<void> {
    await this.loops.stop();
  }

  private async claim(exceptAccounts: readonly string[], leaseSeconds: number): Promise<AssemblyLease | null> {
    // The parts stay where they are. Nothing of them goes before the file is stored.
    if (!(await this.disk.hasRoom())) return null;
    return await claimAssembly(this.database, { leaseToken: randomUUID(), leaseSeconds, exceptAccounts });
  }

  private async assemble(lease: AssemblyLease, signal: AbortSignal): Promise<void> {
    const outcome = await this.files.make(lease, signal);
    this.outcomes.inc({ outcome });
    await this.files.deleteAssembled();
  }

  /** Whatever the error, another attempt follows: what was acknowledged is never given up. */
  private async postpone(lease: AssemblyLease, error: unknown, signal: AbortSignal): Promise<void> {
    this.outcomes.inc({ outcome: 'postponed' });
    this.logger.warn({ err: error, recording_id: lease.recordingId }, 'live recording not stored');
    const delaySeconds = Math.min(RETRY_SECONDS * 2 ** (lease.claims - 1), MAX_RETRY_SECONDS);
    await retryWhileUnavailable(() => releaseLease(this.database, ASSEMBLIES, lease, delaySeconds), { signal });
  }
}
