/** The wait is counted in steps: see `Timeout`. */
const STEPS = 5;

interface Pending {
  stepsLeft: number;
  expire: () => void;
}

/**
 * Bounds the wait for answers, with one timer for all of them. The wait is counted in steps: after a stall of this
 * process timers fire before the answers are read that came meanwhile, and a stall then counts as one step only.
 * cockatiel 3.2.1 (timeout and breaker) has no such steps and costs 20 to 33 µs CPU a call against 2 µs, 18 % of a get.
 */
export class Timeout {
  private readonly pending = new Set<Pending>();
  private timer: NodeJS.Timeout | undefined;

  /** @param ms longest wait; up to one step (a fifth) shorter, because the steps are shared. */
  constructor(private readonly ms: number) {}

  /** Settles as `answer` does. @throws Error when `answer` takes too long. */
  within<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const entry = { stepsLeft: STEPS, expire: () => reject(new Error(`no answer within ${this.ms} ms`)) };
      this.pending.add(entry);
      this.timer ??= setInterval(() => this.step(), this.ms / STEPS);
      const settle =
        <Outcome>(how: (outcome: Outcome) => void) =>
        (outcome: Outcome): void => {
          this.pending.delete(entry);
          how(outcome);
        };
      answer.then(settle(resolve), settle(reject));
    });
  }

  private step(): void {
    for (const entry of this.pending) {
      if (--entry.stepsLeft > 0) continue;
      this.pending.delete(entry);
      entry.expire();
    }
    if (this.pending.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
