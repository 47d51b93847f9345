/** Adds up the time in which it runs. */
export class StopWatch {
  private total = 0;
  private startedAt: number | null = null;

  get seconds(): number {
    return (this.total + (this.startedAt === null ? 0 : performance.now() - this.startedAt)) / 1000;
  }

  start(): void {
    this.startedAt ??= performance.now();
  }

  stop(): void {
    this.total = this.seconds * 1000;
    this.startedAt = null;
  }
}
