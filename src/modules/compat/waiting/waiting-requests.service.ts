import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Registry } from 'prom-client';
import { Env } from '../../../platform/config/env.js';
import { RateLimitError, ServiceUnavailableError } from '../../../platform/errors/errors.js';
import { valueGauge } from '../../../platform/observability/metrics.js';

const RETRY_SECONDS = 1;

/** More requests of an account wait in this process than may. */
class WaitingRequestsError extends RateLimitError {
  constructor(limit: number) {
    super(RETRY_SECONDS);
    this.message = `This account may have ${limit} requests waiting at a time. Retry when one has ended.`;
  }
}

/** Bounds the requests of this process that wait for a transcription, and ends them when it stops. */
@Injectable()
export class WaitingRequestsService implements OnModuleDestroy {
  private readonly perAccount = new Map<string, number>();
  private readonly stop = new AbortController();
  private waiting = 0;

  constructor(
    private readonly env: Env,
    registry: Registry,
  ) {
    const help = 'Requests to /v1/audio/transcriptions under way in this process.';
    registry.registerMetric(valueGauge('compat_waiting_requests', help, () => this.waiting));
  }

  /** Aborted with the error for clients when the process stops. */
  get stopping(): AbortSignal {
    return this.stop.signal;
  }

  /**
   * Counts a request as waiting.
   * @returns a function that ends it, once.
   * @throws RateLimitError when the account has too many, ServiceUnavailableError when the process has or stops.
   */
  take(accountId: string): () => void {
    this.stopping.throwIfAborted();
    const { compatWaiting, compatWaitingPerAccount } = this.env;
    if (this.waiting >= compatWaiting) throw new ServiceUnavailableError(RETRY_SECONDS);
    const own = this.perAccount.get(accountId) ?? 0;
    if (own >= compatWaitingPerAccount) throw new WaitingRequestsError(compatWaitingPerAccount);
    this.perAccount.set(accountId, own + 1);
    this.waiting++;
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      this.waiting--;
      const left = (this.perAccount.get(accountId) ?? 1) - 1;
      if (left > 0) this.perAccount.set(accountId, left);
      else this.perAccount.delete(accountId);
    };
  }

  /** Before the server closes: the clients repeat the request elsewhere, and find the same recording. */
  onModuleDestroy(): void {
    this.stop.abort(new ServiceUnavailableError(RETRY_SECONDS));
  }
}
