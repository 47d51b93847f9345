/** The tasks of one recording in the queue. */
export interface QueueEntry {
  /** Runs the task when it is this entry's turn. @param cost of the task, such as its seconds of audio. */
  run<T>(task: () => Promise<T>, cost?: number): Promise<T>;
  /** Drops the tasks that have not started. */
  leave(): void;
}

interface WaitingTask {
  cost: number;
  start: () => void;
}

interface WaitingTasks {
  account: AccountTurns;
  /** Number of its last turn; 0 before the first. */
  lastTurn: number;
  tasks: WaitingTask[];
}

interface AccountTurns {
  entries: Set<WaitingTasks>;
  /** Cost of all that was started, but never less than what every account in the queue was given while it was idle. */
  served: number;
  lastTurn: number;
}

/**
 * Shares an engine's slots among accounts by the cost of their chunks, and among the recordings of an account in turn,
 * one chunk at a time. A recording waits for about one chunk of the others, and a long recording alone uses every slot.
 * Measured: short ones wait 2.2 s behind a recording of ten minutes, which alone reaches 0.92 of the bare engines
 * (docs/performance.md).
 */
export class FairQueue {
  private readonly accounts = new Map<string, AccountTurns>();
  private free: number;
  private turn = 0;
  /** What the account of the last turn had been served before it: who was idle starts from here. */
  private level = 0;

  constructor(readonly slots: number) {
    this.free = slots;
  }

  join(accountId = ''): QueueEntry {
    const account = this.accountOf(accountId);
    const entry: WaitingTasks = { account, lastTurn: 0, tasks: [] };
    account.entries.add(entry);
    return {
      run: async (task, cost = 1) => {
        await new Promise<void>((start) => {
          entry.tasks.push({ cost, start });
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
        account.entries.delete(entry);
        if (account.entries.size === 0) this.accounts.delete(accountId);
      },
    };
  }

  private accountOf(id: string): AccountTurns {
    const account = this.accounts.get(id) ?? { entries: new Set(), served: this.level, lastTurn: 0 };
    this.accounts.set(id, account);
    return account;
  }

  private fillSlots(): void {
    while (this.free > 0) {
      const next = this.next();
      if (!next) return;
      const { account } = next;
      const task = next.tasks.shift() as WaitingTask;
      this.level = Math.max(account.served, this.level);
      account.served = this.level + task.cost;
      next.lastTurn = account.lastTurn = ++this.turn;
      this.free--;
      task.start();
    }
  }

  private next(): WaitingTasks | undefined {
    const waiting = [...this.accounts.values()].flatMap(({ entries }) =>
      [...entries].filter(({ tasks }) => tasks.length > 0),
    );
    const due = ({ account }: WaitingTasks): number => Math.max(account.served, this.level);
    const [first] = waiting.toSorted(
      (a, b) => due(a) - due(b) || a.account.lastTurn - b.account.lastTurn || a.lastTurn - b.lastTurn,
    );
    return first;
  }
}
