/** The tasks of one recording in the queue. */
export interface QueueEntry {
  /** Runs the task when it is this entry's turn. */
  run<T>(task: () => Promise<T>): Promise<T>;
  /** Drops the tasks that have not started. */
  leave(): void;
}

interface WaitingTasks {
  /** Number of its last turn; 0 before the first. */
  lastTurn: number;
  starts: (() => void)[];
}

/**
 * Round-robin scheduling of an engine's slots among recordings, one chunk of each at a time. A short recording waits
 * for about one chunk of a long one, and a long recording alone uses every slot. Measured: short ones wait 2.2 s behind
 * a recording of ten minutes, which alone reaches 0.92 of the bare engines (docs/performance.md).
 */
export class FairQueue {
  private readonly entries = new Set<WaitingTasks>();
  private free: number;
  private turn = 0;

  constructor(readonly slots: number) {
    this.free = slots;
  }

  join(): QueueEntry {
    const entry: WaitingTasks = { lastTurn: 0, starts: [] };
    this.entries.add(entry);
    return {
      run: async (task) => {
        await new Promise<void>((resolve) => {
          entry.starts.push(resolve);
          this.fillSlots();
        });
        try {
          return await task();
        } finally {
          this.free++;
          this.fillSlots();
        }
      },
      leave: () => {
        this.entries.delete(entry);
      },
    };
  }

  private fillSlots(): void {
    while (this.free > 0) {
      const [next] = [...this.entries]
        .filter((entry) => entry.starts.length > 0)
        .toSorted((a, b) => a.lastTurn - b.lastTurn);
      if (!next) return;
      next.lastTurn = ++this.turn;
      this.free--;
      next.starts.shift()?.();
    }
  }
}
