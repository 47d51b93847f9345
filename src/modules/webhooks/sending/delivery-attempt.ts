import { setMaxListeners } from 'node:events';

/** Ends an attempt; its message may be shown to the webhook's owner. */
export class DeliveryAttemptError extends Error {
  override readonly name = 'DeliveryAttemptError';
}

interface Limits {
  connectMs: number;
  headersMs: number;
}

/** The clocks of one attempt, and everything else that can end it early. */
export class DeliveryAttempt {
  private readonly controller = new AbortController();
  private readonly startedAt = performance.now();
  private settledAt: number | undefined;
  private connectClock: NodeJS.Timeout | undefined;
  private readonly answerClock: NodeJS.Timeout;

  constructor(
    private readonly limits: Limits,
    private readonly caller?: AbortSignal,
  ) {
    const { headersMs } = limits;
    this.answerClock = setTimeout(() => this.fail(`no answer within ${headersMs / 1000} s`), headersMs);
    if (!caller) return;
    // Node would take the many attempts that may share one signal for a leak, and warn.
    setMaxListeners(0, caller);
    caller.addEventListener('abort', this.cancel);
    if (caller.aborted) this.cancel();
  }

  /** Aborted with an `AttemptFailed` as its reason. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  connecting(): void {
    const { connectMs } = this.limits;
    this.connectClock = setTimeout(() => this.fail(`no connection within ${connectMs / 1000} s`), connectMs);
  }

  connected(): void {
    clearTimeout(this.connectClock);
  }

  fail(why: string): void {
    this.controller.abort(new DeliveryAttemptError(why));
  }

  /** From its start until it was settled. */
  get durationMs(): number {
    return Math.round((this.settledAt ?? performance.now()) - this.startedAt);
  }

  /** From here on nothing ends the attempt, which holds on to no timer and no signal any more. */
  settle(): void {
    this.settledAt ??= performance.now();
    clearTimeout(this.connectClock);
    clearTimeout(this.answerClock);
    this.caller?.removeEventListener('abort', this.cancel);
  }

  private readonly cancel = () => this.fail('the attempt was cancelled');
}
