import { LRUCache } from 'lru-cache';

/** A value that was read from Postgres, and the account's credential version at that moment. */
export interface Versioned {
  version: number;
  /** When the value stops being valid by itself. */
  expiresAt?: Date | null;
}

const MAX_ENTRIES = 10_000;
/**
 * Concurrent requests share one read, but only a recent one: `CredentialVersionsService` adds this to the age of a value
 * that it takes for current.
 */
const SHARED_READ_MS = 500;

/**
 * Keeps what Postgres said about API keys and accounts in the memory of this process. A cached value may be out of date:
 * `AuthenticatorService` uses it only after its version was confirmed.
 * A request for one recording needs one SQL statement instead of three; each of the two others takes 120 µs CPU
 * (docs/performance.md). Held by credential-cache.e2e.ts.
 */
export class CredentialCache<Value extends Versioned> {
  private readonly values = new LRUCache<string, Value>({ max: MAX_ENTRIES });
  private readonly reads = new Map<string, { startedAt: number; value: Promise<Value | null> }>();

  /** @param read returns null for an unknown id; that is not cached. `isKnown`: it was valid when last read. */
  constructor(private readonly read: (id: string, options: { isKnown: boolean }) => Promise<Value | null>) {}

  /** The cached value, or the one in Postgres. @param fresh skips the cache. */
  async get(id: string, fresh: boolean): Promise<Value | null> {
    const cached = fresh ? undefined : this.values.get(id);
    return cached ?? (await this.refresh(id));
  }

  private async refresh(id: string): Promise<Value | null> {
    const current = this.reads.get(id);
    if (current && Date.now() - current.startedAt < SHARED_READ_MS) return await current.value;
    const read = { startedAt: Date.now(), value: this.read(id, { isKnown: this.values.has(id) }) };
    this.reads.set(id, read);
    try {
      const value = await read.value;
      this.store(id, value);
      return value;
    } finally {
      if (this.reads.get(id) === read) this.reads.delete(id);
    }
  }

  private store(id: string, value: Value | null): void {
    if (!value) {
      this.values.delete(id);
      return;
    }
    const cached = this.values.peek(id);
    // A slow read must not replace the result of a later one.
    if (cached && cached.version > value.version) return;
    const ttl = value.expiresAt ? value.expiresAt.getTime() - Date.now() : undefined;
    if (ttl === undefined || ttl > 0) this.values.set(id, value, { ttl });
    else this.values.delete(id);
  }
}
