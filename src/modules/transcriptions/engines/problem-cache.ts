interface Check {
  answer: Promise<string | null>;
  /** Milliseconds since 1970; unlimited while the check runs. */
  expiresAt: number;
}

/** Remembers the result of a health check for a while, so that frequent probes do not each start a new one. */
export class ProblemCache {
  private last: Check | null = null;

  constructor(
    private readonly check: () => Promise<string | null>,
    private readonly keptMs: number,
  ) {}

  /** The last result, or that of a new check. Simultaneous callers share one check. */
  async get(): Promise<string | null> {
    if (this.last === null || Date.now() > this.last.expiresAt) this.last = this.start();
    return await this.last.answer;
  }

  private start(): Check {
    const check: Check = { answer: this.check(), expiresAt: Infinity };
    void check.answer.then(
      () => (check.expiresAt = Date.now() + this.keptMs),
      () => (check.expiresAt = 0),
    );
    return check;
  }
}
