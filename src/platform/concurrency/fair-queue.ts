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
  /** Before the other entries of its account. */
  isLive: boolean;
  tasks: WaitingTask[];
}

interface AccountTurns {
  id: string;
  entries: Set<WaitingTasks>;
  /** Cost of all that was started, but never less than what every account in the queue was given while it was idle. */
  served: number;
  lastTurn: number;
}

/**
 * Shares an engine's slots among accounts by the cost of their chunks, and among the recordings of an account in turn,
 * one chunk at a time. A recording waits for about one chunk of the others, and a long recording alone uses every slot.
 * Measured: short ones wait 2.2 s behind a recording of ten minutes, which alone reaches 0.92 of the bare engines
 * (docs/performance.md). What somebody speaks now goes before the other recordings of its account, and before other
 * accounts that were served as much. What is in the background starts only when nothing else waits, and leaves one slot free.
 */
export class FairQueue {
  private readonly turns = new Turns();
  private readonly backgroundTurns = new Turns();
  private free: number;
  private freeForBackground: number;

  constructor(readonly slots: number) {
    this.free = slots;
    this.freeForBackground = Math.max(1, slots - 1);
  }

  join(accountId = '', isBackground = false, isLive = false): QueueEntry {
    const turns = isBackground ? this.backgroundTurns : this.turns;
    const entry = turns.join(accountId, isLive);
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
          if (isBackground) this.freeForBackground++;
          this.fillSlots();
        }
      },
      leave: () => turns.leave(entry),
    };
  }

  private fillSlots(): void {
    while (this.free > 0) {
      const task = this.turns.take() ?? this.takeFromBackground();
      if (!task) return;
      this.free--;
      task.start();
    }
  }

  private takeFromBackground(): WaitingTask | undefined {
    if (this.freeForBackground === 0) return undefined;
    const task = this.backgroundTurns.take();
    if (task) this.freeForBackground--;
    return task;
  }
}

/** Whose turn it is among the accounts of a queue. */
class Turns {
  private readonly accounts = new Map<string, AccountTurns>();
  private turn = 0;
  /** What the account of the last turn had been served before it: who was idle starts from here. */
  private level = 0;

  join(accountId: string, isLive: boolean): WaitingTasks {
    const account = this.accountOf(accountId);
    const entry: WaitingTasks = { account, lastTurn: 0, isLive, tasks: [] };
    account.entries.add(entry);
    return entry;
  }

  leave(entry: WaitingTasks): void {
    const { account } = entry;
    account.entries.delete(entry);
    if (account.entries.size === 0) this.accounts.delete(account.id);
  }

  /** The next task, which is counted as started. */
  take(): WaitingTask | undefined {
    const next = this.next();
    const task = next?.tasks.shift();
    if (!next || !task) return undefined;
    const { account } = next;
    this.level = Math.max(account.served, this.level);
    account.served = this.level + task.cost;
    next.lastTurn = account.lastTurn = ++this.turn;
    return task;
  }

  private accountOf(id: string): AccountTurns {
    const account = this.accounts.get(id) ?? { id, entries: new Set(), served: this.level, lastTurn: 0 };
    this.accounts.set(id, account);
    return account;
  }

  private next(): WaitingTasks | undefined {
    const waiting = [...this.accounts.values()].flatMap(({ entries }) =>
      [...entries].filter(({ tasks }) => tasks.length > 0),
    );
    const due = ({ account }: WaitingTasks): number => Math.max(account.served, this.level);
    const [first] = waiting.toSorted(
      (a, b) =>
        due(a) - due(b) ||
        Number(b.isLive) - Number(a.isLive) ||
        a.account.lastTurn - b.account.lastTurn ||
        a.lastTurn - b.lastTurn,
    );
    return first;
  }
}
