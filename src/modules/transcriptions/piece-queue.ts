/** Work of one recording that waits for the engine. */
export interface Lane {
  /** Runs the task when it is this lane's turn. After `close` tasks that have not begun are dropped. */
  run<T>(task: () => Promise<T>): Promise<T>;
  close(): void;
}

type Start = () => void;

/**
 * Gives an engine's places to the pieces of several recordings in turn, one piece of each at a time, so that a short
 * note waits for about one piece of a long one and a long note alone uses every place.
 */
export class PieceQueue {
  /** In the order of their turns. */
  private readonly lanes: Start[][] = [];
  private free: number;

  constructor(readonly places: number) {
    this.free = places;
  }

  lane(): Lane {
    const waiting: Start[] = [];
    this.lanes.push(waiting);
    return {
      run: async (task) => {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
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
        this.lanes.splice(this.lanes.indexOf(waiting), 1);
      },
    };
  }

  private fill(): void {
    while (this.free > 0) {
      const turn = this.lanes.findIndex((waiting) => waiting.length > 0);
      const [lane] = turn < 0 ? [] : this.lanes.splice(turn, 1);
      if (!lane) return;
      this.lanes.push(lane);
      this.free--;
      lane.shift()?.();
    }
  }
}
