import { setMaxListeners } from 'node:events';
import { DeliveryAttemptError, type DeliveryErrorKind } from './outcome/delivery-error.js';

interface Limits {
  connectMs: number;
  headersMs: number;
}

/** The time limits of one attempt, and its cancellation. */
export class DeliveryAttempt {
  private readonly controller = new AbortController();
  private readonly startedAt = performance.now();
  private settledAt: number | undefined;
  private connectTimer: NodeJS.Timeout | undefined;
  private readonly responseTimer: NodeJS.Timeout;

  constructor(
    private readonly limits: Limits,
    private readonly caller?: AbortSignal,
  ) {
    const { headersMs } = limits;
    this.responseTimer = setTimeout(() => this.fail('timeout', `no answer within ${headersMs / 1000} s`), headersMs);
    if (!caller) return;
    // Many attempts share one signal, which Node would report as a leak.
    setMaxListeners(0, caller);
    caller.addEventListener('abort', this.cancel);
    if (caller.aborted) this.cancel();
  }

  /** Aborted with a `DeliveryAttemptError` as its reason. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  connecting(): void {
    const { connectMs } = this.limits;
    this.connectTimer = setTimeout(() => this.fail('timeout', `no connection within ${connectMs / 1000} s`), connectMs);
  }

  connected(): void {
    clearTimeout(this.connectTimer);
  }

  fail(kind: DeliveryErrorKind, reason: string): void {
    this.controller.abort(new DeliveryAttemptError(kind, reason));
  }

  /** From the start until `settle`. */
  get durationMs(): number {
    return Math.round((this.settledAt ?? performance.now()) - this.startedAt);
  }

  /** Clears the timers and the signal: nothing ends the attempt from here on. */
  settle(): void {
    this.settledAt ??= performance.now();
    clearTimeout(this.connectTimer);
    clearTimeout(this.responseTimer);
    this.caller?.removeEventListener('abort', this.cancel);
  }

  private readonly cancel = () => this.fail('reset', 'the attempt was cancelled');
}
