import { TimeoutError } from './errors.js';

/**
 * Ends one attempt of a request: when the caller's signal is aborted, or when nothing has come for some time. `end` leaves
 * neither a timer nor a listener behind, however long the caller's signal lives.
 */
export class Deadline {
  private readonly controller = new AbortController();
  private readonly onAbort = () => this.abort(this.caller?.reason);
  private timer: ReturnType<typeof setTimeout> | undefined;
  private hasEnded = false;

  /** @param ms until the time-out; 0 or Infinity for none */
  constructor(
    private readonly caller: AbortSignal | null | undefined,
    private readonly ms: number,
    private readonly message = `Nothing came for ${ms} ms.`,
  ) {
    if (caller?.aborted) this.onAbort();
    else caller?.addEventListener('abort', this.onAbort, { once: true });
    this.restart();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  abort(reason?: unknown): void {
    this.controller.abort(reason);
  }

  /** Something came: the time begins again. */
  restart(): void {
    this.pause();
    if (this.ms <= 0 || this.ms === Infinity || this.signal.aborted || this.hasEnded) return;
    this.timer = setTimeout(() => this.abort(new TimeoutError(this.message)), this.ms);
  }

  /** Stops the time until `restart`, while the caller is waited for. */
  pause(): void {
    clearTimeout(this.timer);
  }

  /** For good: what still comes of an attempt that has ended starts no time again. */
  end(): void {
    this.hasEnded = true;
    this.pause();
    this.caller?.removeEventListener('abort', this.onAbort);
  }
}
