/** Work of one recording that waits for the engine. */
export interface Lane {
  /** Runs the task when it is this lane's turn. After `close` tasks that have not begun are dropped. */
  run<T>(task: () => Promise<T>): Promise<T>;
  close(): void;
}

interface Waiting {
  /** Number of the turn it had last; 0 before the first. */
  lastTurn: number;
  starts: (() => void)[];
}

/**
 * Gives an engine's places to the pieces of several recordings in turn, one piece of each at a time, so that a short
 * note waits for about one piece of a long one and a long note alone uses every place.
 */
export class FairQueue {
  private readonly lanes = new Set<Waiting>();
  private free: number;
  private turn = 0;

  constructor(readonly places: number) {
    this.free = places;
  }

  lane(): Lane {
    const lane: Waiting = { lastTurn: 0, starts: [] };
    this.lanes.add(lane);
    return {
      run: async (task) => {
        await new Promise<void>((resolve) => {
          lane.starts.push(resolve);
          this.fill();
        });
        try {
          return await task();
        } finally {
          this.free++;
          this.fill();
        }
      },
      close: () => {
        this.lanes.delete(lane);
      },
    };
  }

  private fill(): void {
    while (this.free > 0) {
      const [next] = [...this.lanes]
        .filter((lane) => lane.starts.length > 0)
        .toSorted((a, b) => a.lastTurn - b.lastTurn);
      if (!next) return;
      next.lastTurn = ++this.turn;
      this.free--;
      next.starts.shift()?.();
    }
  }
}
