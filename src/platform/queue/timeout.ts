/** The wait is counted in steps: see `Patience`. */
const STEPS = 5;

interface Waiting {
  left: number;
  giveUp: () => void;
}

/**
 * A bound on how long answers are waited for, with one timer for all of them. The wait is counted in steps: when this
 * process itself stalls, timers fire before the answer is read that has come meanwhile; a stall counts for one step
 * only, so that a server is not held to be away because we were.
 */
export class Timeout {
  private readonly waiting = new Set<Waiting>();
  private timer: NodeJS.Timeout | undefined;

  /** @param ms how long an answer is waited for; up to a step (a fifth) less, since steps begin together. */
  constructor(private readonly ms: number) {}

  /** What `answer` gives. @throws Error when it takes too long; what it throws itself otherwise */
  within<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const entry = { left: STEPS, giveUp: () => reject(new Error(`no answer within ${this.ms} ms`)) };
      this.waiting.add(entry);
      this.timer ??= setInterval(() => this.step(), this.ms / STEPS);
      const settle =
        <Outcome>(how: (outcome: Outcome) => void) =>
        (outcome: Outcome): void => {
          this.waiting.delete(entry);
          how(outcome);
        };
      answer.then(settle(resolve), settle(reject));
    });
  }

  private step(): void {
    for (const entry of this.waiting) {
      if (--entry.left > 0) continue;
      this.waiting.delete(entry);
      entry.giveUp();
    }
    if (this.waiting.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
