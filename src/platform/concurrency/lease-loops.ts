import type { Logger } from '@nestjs/common';

/** Another process has the lease, or what it was for is gone. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

/** Renews a lease, and aborts `lost` when it is no longer held. While Postgres is unavailable the work goes on. */
export function keepLease(renew: () => Promise<boolean>, everyMs: number, lost: AbortController): NodeJS.Timeout {
  const renewOnce = async (): Promise<void> => {
    if (!(await renew().catch(() => true))) lost.abort(new LeaseLostError());
  };
  return setInterval(() => void renewOnce(), everyMs);
}

interface AccountLease {
  accountId: string;
  recordingId: string;
}

/** What is leased, and what is done with it. */
export interface LeasedWork<Lease extends AccountLease> {
  /** Leases that one process holds at the same time. */
  limit: number;
  leaseSeconds: number;
  /** @returns null when nothing is due for other accounts than these. */
  claim(exceptAccounts: readonly string[]): Promise<Lease | null>;
  /** @returns whether the lease is still held. */
  renew(lease: Lease): Promise<boolean>;
  /** @param attempt aborted when the lease is lost or the process stops */
  perform(lease: Lease, attempt: AbortController): Promise<void>;
  /** Saves that an attempt has failed. @param stopping aborted when the process stops */
  fail(lease: Lease, error: unknown, stopping: AbortSignal): Promise<void>;
  /** Ends the lease of an attempt that the stop of the process has ended. */
  release(lease: Lease): Promise<void>;
  /** What the log says when a claim fails, and when the end of an attempt cannot be saved. */
  messages: { notClaimed: string; notSaved: string };
}

/** Claims what is due and works on it, in as many loops as there are leases, until nothing is due. */
export class LeaseLoops<Lease extends AccountLease> {
  private readonly stopping = new AbortController();
  private readonly loops = new Set<Promise<void>>();
  /** The account of each lease. */
  private readonly held: string[] = [];

  constructor(
    private readonly work: LeasedWork<Lease>,
    private readonly logger: Logger,
  ) {}

  /** Looks for what is due, unless all leases are in use; then a loop looks when one has ended. */
  wake(): void {
    if (this.stopping.signal.aborted || this.loops.size >= this.work.limit) return;
    const loop = this.run()
      .catch((error: unknown) => this.logger.warn({ err: error }, this.work.messages.notClaimed))
      .finally(() => this.loops.delete(loop));
    this.loops.add(loop);
  }

  async stop(): Promise<void> {
    this.stopping.abort(new Error('the service stops'));
    await Promise.all(this.loops);
  }

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      const lease = await this.work.claim(this.fullAccounts());
      if (!lease) return;
      this.held.push(lease.accountId);
      // There may be more, for a loop beside this one.
      this.wake();
      await this.perform(lease).finally(() => this.held.splice(this.held.indexOf(lease.accountId), 1));
    }
  }

  /** Accounts that hold as many leases as are free: long work of one account leaves some to the others. */
  private fullAccounts(): string[] {
    const free = this.work.limit - this.held.length;
    const countOf = (accountId: string): number => this.held.filter((id) => id === accountId).length;
    return [...new Set(this.held)].filter((accountId) => countOf(accountId) >= free);
  }

  private async perform(lease: Lease): Promise<void> {
    const attempt = new AbortController();
    const stop = (): void => attempt.abort(this.stopping.signal.reason);
    this.stopping.signal.addEventListener('abort', stop);
    const renewal = keepLease(() => this.work.renew(lease), (this.work.leaseSeconds * 1000) / 3, attempt);
    try {
      await this.work.perform(lease, attempt);
    } catch (error) {
      await this.end(lease, attempt.signal.aborted ? attempt.signal.reason : error).catch((failure: unknown) =>
        this.logger.warn({ err: failure, recording_id: lease.recordingId }, this.work.messages.notSaved),
      );
    } finally {
      clearInterval(renewal);
      this.stopping.signal.removeEventListener('abort', stop);
    }
  }

  private async end(lease: Lease, error: unknown): Promise<void> {
    if (error instanceof LeaseLostError) return;
    const { signal } = this.stopping;
    if (signal.aborted && error === signal.reason) await this.work.release(lease);
    else await this.work.fail(lease, error, signal);
  }
}
