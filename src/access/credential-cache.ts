/** Something that was read from Postgres, and at which epoch of its account. */
export interface Versioned {
  epoch: number;
}

/** Entries that a process remembers; the longest unused are forgotten first. */
const MAX_ENTRIES = 10_000;
/** Who comes while a read is under way waits for the same one, unless that began longer ago: see `Epochs`. */
const SHARED_MS = 500;

/** Remembers what was read, by id, and has a thing read by one request at a time. Nothing is remembered of a null. */
export class CredentialCache<Value extends Versioned> {
  private readonly known = new Map<string, Value>();
  private readonly underWay = new Map<string, { startedAt: number; value: Promise<Value | null> }>();

  constructor(private readonly read: (id: string) => Promise<Value | null>) {}

  /** What is remembered. */
  recall(id: string): Value | null {
    const known = this.known.get(id);
    if (!known) return null;
    this.known.delete(id);
    this.known.set(id, known);
    return known;
  }

  /** What is remembered, or read if nothing is. @param fresh what is remembered will not do. */
  async get(id: string, fresh: boolean): Promise<Value | null> {
    return (fresh ? null : this.recall(id)) ?? (await this.refresh(id));
  }

  private async refresh(id: string): Promise<Value | null> {
    const current = this.underWay.get(id);
    if (current && Date.now() - current.startedAt < SHARED_MS) return await current.value;
    const value = this.read(id);
    const reading = { startedAt: Date.now(), value };
    this.underWay.set(id, reading);
    try {
      this.remember(id, await value);
      return await value;
    } finally {
      if (this.underWay.get(id) === reading) this.underWay.delete(id);
    }
  }

  private remember(id: string, value: Value | null): void {
    const known = this.known.get(id);
    // A slow read must not put back what a later one has replaced.
    if (known && value && known.epoch > value.epoch) return;
    this.known.delete(id);
    if (value) this.known.set(id, value);
    const [oldest] = this.known.keys();
    if (this.known.size > MAX_ENTRIES && oldest !== undefined) this.known.delete(oldest);
  }
}
