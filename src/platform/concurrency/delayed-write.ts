/**
 * Writes what a process collects in memory, some time after the first of it, so that a write holds much and nobody waits
 * for it. One write at a time.
 */
export class DelayedWrite {
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();

  /**
   * @param ms from the first `schedule` to the write.
   * @param write may call `schedule` to be tried again. Must not reject.
   */
  constructor(
    private readonly ms: number,
    private readonly write: () => Promise<void>,
  ) {}

  schedule(): void {
    this.timer ??= setTimeout(() => void this.flush(), this.ms).unref();
  }

  /** Writes now. Resolves after this write and those before it. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.writing = this.writing.then(() => this.write());
    await this.writing;
  }
}
