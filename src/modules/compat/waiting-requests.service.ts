import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { Response } from 'express';
import { Registry } from 'prom-client';
import { Env } from '../../platform/config/env.js';
import { RateLimitError, ServiceUnavailableError } from '../../platform/errors/errors.js';
import { addGauge } from '../../platform/observability/metrics.js';

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
  /** What ends each wait, and the account of the request. */
  private readonly waits = new Map<AbortController, string>();
  private stopped = false;

  constructor(
    private readonly env: Env,
    registry: Registry,
  ) {
    const help = 'Requests to /v1/audio/transcriptions under way in this process.';
    addGauge(registry, 'compat_waiting_requests', help, () => this.waits.size);
  }

  /**
   * Counts a request as waiting until its response is closed.
   * @returns what ends the wait. It is aborted when the client has gone, and with an error for it when the process stops.
   * @throws RateLimitError when the account has too many, ServiceUnavailableError when the process has or stops.
   */
  add(accountId: string, response: Response): AbortController {
    const { compatWaiting, compatWaitingPerAccount } = this.env;
    if (this.stopped || this.waits.size >= compatWaiting) throw new ServiceUnavailableError(RETRY_SECONDS);
    const own = [...this.waits.values()].filter((other) => other === accountId).length;
    if (own >= compatWaitingPerAccount) throw new WaitingRequestsError(compatWaitingPerAccount);
    const wait = new AbortController();
    const leave = (): void => {
      this.waits.delete(wait);
      wait.abort(new Error('client disconnected'));
    };
    this.waits.set(wait, accountId);
    response.once('close', leave);
    if (response.closed) leave();
    return wait;
  }

  /** Before the server closes: the clients repeat the request elsewhere, and find the same recording. */
  onModuleDestroy(): void {
    this.stopped = true;
    for (const wait of this.waits.keys()) wait.abort(new ServiceUnavailableError(RETRY_SECONDS));
  }
}
