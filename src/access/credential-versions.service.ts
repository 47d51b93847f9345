import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { DatabaseService, type Tx } from '../platform/database/database.service.js';
import { readCredentialVersion } from './accounts.queries.js';
import { RedisService } from '../platform/redis/redis.service.js';

/** Redis forgets its copy of a version after this time, so that the copy is never older. */
const COPY_MS = 2000;

/** A version that was read longer ago is not stored. With the time of a shared read, well below the copy's lifetime. */
const MAX_READ_AGE_MS = 1000;
/** After this time no process takes an older version for current, even if nobody has told Redis of the new one. */
const FORGOTTEN_MS = 2 * COPY_MS;

/**
 * Stores a version that was read from Postgres, unless Redis has a newer one, and returns the newer of the two. Returns
 * -1 for one that was read too long ago: the copy of a newer version may have expired since.
 * KEYS[1] the copy   ARGV[1] the version   ARGV[2] lifetime of the copy in milliseconds
 * ARGV[3] Redis's time before the read in milliseconds, 0 for a change   ARGV[4] its maximum age
 */
const RAISE = `
local asOf = tonumber(ARGV[3])
if asOf > 0 then
  local time = redis.call('TIME')
  if time[1] * 1000 + time[2] / 1000 - asOf > tonumber(ARGV[4]) then return -1 end
end
local copy = tonumber(redis.call('GET', KEYS[1]) or 0)
local version = tonumber(ARGV[1])
if version <= copy then return copy end
redis.call('SET', KEYS[1], version, 'PX', ARGV[2])
return version`;

interface RaisesVersion {
  raiseCredentialVersion(key: string, version: number, ms: number, asOf: number, maxAge: number): Promise<number>;
}

/**
 * `accounts.credential_version` is incremented by triggers in the transaction of every change that matters to
 * authentication: a key revoked, the account suspended, its plan or limits changed. Processes cache credentials together
 * with the version at which they read them and compare it with a copy in Redis at every request. So a request needs no
 * SQL for its credentials, and a change takes effect in every process at once.
 */
@Injectable()
export class CredentialVersionsService {
  private readonly reads = new Map<string, Promise<number | null>>();

  constructor(
    private readonly redis: RedisService,
    private readonly database: DatabaseService,
  ) {
    redis.client.defineCommand('raiseCredentialVersion', { numberOfKeys: 1, lua: RAISE });
  }

  /** Redis's time in milliseconds, to be asked before a read from Postgres. Null when Redis did not answer. */
  async readTime(): Promise<number | null> {
    const time = await this.redis.tryCommand((client) => client.time());
    return time && Number(time[0]) * 1000 + Math.floor(Number(time[1]) / 1000);
  }

  /** Whether credentials of the cache, read at `version`, are the account's current ones. False when Redis did not answer. */
  async isCurrent(accountId: string, version: number): Promise<boolean> {
    return (await this.copyOf(accountId)) === version;
  }

  /**
   * Whether credentials that were read from Postgres for this request are the account's current ones.
   * @param asOf `readTime` before that. Without Redis the read alone counts.
   */
  async confirm(accountId: string, version: number, asOf: number | null): Promise<boolean> {
    const current = asOf === null ? null : await this.raise(accountId, version, asOf);
    return current === null || current === version;
  }

  /**
   * Changes credentials of an account, or what requests are allowed with them, in a transaction. Resolves once no process
   * takes an older version for the current one: then the change may be answered.
   */
  async change<T>(accountId: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    const { result, version } = await this.database.transact(async (tx) => ({
      result: await work(tx),
      version: await readCredentialVersion(tx, accountId),
    }));
    const raised = await this.raise(accountId, version, 0);
    // Other processes may still reach the Redis server that this one does not.
    if (raised === null) await delay(FORGOTTEN_MS);
    return result;
  }

  /** For a change that was made in another transaction: resolves as `change`. */
  async announce(accountId: string): Promise<void> {
    await this.change(accountId, async () => undefined);
  }

  /**
   * Null when Redis did not answer, 0 when it has no copy. Requests of one account that arrive in one turn of the event
   * loop share a read: it is sent after the last of them arrived, so that none misses a change announced before it.
   */
  private copyOf(accountId: string): Promise<number | null> {
    const shared = this.reads.get(accountId);
    if (shared) return shared;
    const read = this.readCopy(accountId);
    this.reads.set(accountId, read);
    setImmediate(() => this.reads.delete(accountId));
    return read;
  }

  private async readCopy(accountId: string): Promise<number | null> {
    const answer = await this.redis.tryCommand(async (client) => [await client.get(keyOf(accountId))] as const);
    return answer && Number(answer[0] ?? 0);
  }

  private raise(accountId: string, version: number, asOf: number): Promise<number | null> {
    return this.redis.tryCommand((client) =>
      (client as unknown as RaisesVersion).raiseCredentialVersion(
        keyOf(accountId),
        version,
        COPY_MS,
        asOf,
        MAX_READ_AGE_MS,
      ),
    );
  }
}

const keyOf = (accountId: string): string => `credential-version:${accountId}`;
