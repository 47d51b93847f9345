import { randomBytes, randomInt } from 'node:crypto';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LRUCache } from 'lru-cache';
import { Repository } from 'typeorm';
import { NIL } from 'uuid';
import { sharedRun } from '../../concurrency/shared-run.js';
import { Env } from '../../config/env.js';
import type { Tx } from '../../database/database.service.js';
import { isDatabaseUnavailable } from '../../database/unavailable.js';
import { ObjectNotFoundError, StorageUnavailableError } from '../file-system.js';
import type { KeyWrapper } from './key-wrapper.js';
import { keyWrappersOf } from './key-wrappers.js';
import { StorageKey } from './storage-key.entity.js';

const KEY_BYTES = 32;
/** Keys in memory: that long at most this process goes on after the account was closed, or without what unwraps them. */
const KEPT_MS = 3_600_000;
/** Then a key that is used is unwrapped again, so that an outage begins with at least the rest of that time. */
const RENEWED_MS = KEPT_MS / 2;
/** Between two looks at whether keys can be wrapped. */
const LOOK_KEPT_MS = 5000;
/** After which no upload can be about to be stored that has asked for the version before. */
const SUPERSEDED_SECONDS = 2 * 3600;
const MAX_KEPT = 10_000;
const FIRST_VERSION = 1;
const MAX_VERSION = 1_000_000_000;

/** Rows read at once, to bound memory. */
const BATCH = 500;

type KeyId = Pick<StorageKey, 'accountId' | 'version'>;

type WrappedKey = Pick<StorageKey, 'accountId' | 'version' | 'wrappedKey'>;

export interface Rewrapping {
  rewrapped: number;
  /** Keys that a process with another wrapping key has made meanwhile. */
  left: number;
  /** Keys that nothing of this process can unwrap. */
  unreadable: { account_id: string; version: number }[];
}

/** A key that this process cannot unwrap, however long it waits. */
class UnreadableKeyError extends StorageUnavailableError {}

/** The keys of accounts, under which their audio is encrypted (docs/decisions/0049). */
@Injectable()
export class StorageKeysService implements OnApplicationShutdown {
  private readonly wrappers: readonly KeyWrapper[];
  private readonly keys = new LRUCache<string, Buffer, KeyId>({
    max: MAX_KEPT,
    ttl: KEPT_MS,
    noDeleteOnFetchRejection: true,
    fetchMethod: (_name, _stale, { context }) => this.read(context),
  });
  /** Of accounts whose rows are not there yet. */
  private readonly prepared = new Map<string, { key: Buffer; row: Omit<StorageKey, 'createdAt'> }>();

  private found: string | null = null;
  private readonly look = sharedRun(async () => {
    const looks = await Promise.allSettled(this.wrappers.map((wrapper) => wrapper.currentPrefix()));
    const failed = looks.find((one) => one.status === 'rejected');
    this.found = failed ? `${(failed.reason as Error).message}. Keys in memory are used for up to an hour.` : null;
  }, LOOK_KEPT_MS);

  constructor(
    @InjectRepository(StorageKey) private readonly rows: Repository<StorageKey>,
    env: Env,
  ) {
    this.wrappers = keyWrappersOf(env);
  }

  /**
   * The version for new audio, which is made for the first. Not kept: nothing may be stored under a key that has gone.
   * @throws StorageUnavailableError
   */
  async current(accountId: string): Promise<number> {
    const prepared = this.prepared.get(accountId);
    if (prepared) return prepared.row.version;
    return (await this.latest(accountId)) ?? (await this.add({ accountId, version: FIRST_VERSION }));
  }

  /** @throws ObjectNotFoundError when it is gone with its account, StorageUnavailableError */
  async keyOf(id: KeyId): Promise<Buffer> {
    const prepared = this.prepared.get(id.accountId);
    if (prepared) return prepared.key;
    const name = nameOf(id);
    const left = this.keys.getRemainingTTL(name);
    if (left > 0 && left < RENEWED_MS)
      void this.keys.fetch(name, { context: id, forceRefresh: true }).catch(() => undefined);
    return (await this.keys.fetch(name, { context: id })) as Buffer;
  }

  /**
   * What keeps this process from wrapping and unwrapping keys; null if nothing does. As the last look has found it: who
   * asks, such as readiness, waits for no other server.
   */
  async problem(): Promise<string | null> {
    void this.look();
    return this.found;
  }

  async onApplicationShutdown(): Promise<void> {
    for (const wrapper of this.wrappers) await wrapper.close?.();
  }

  /** A new version for the account, under which its audio is encrypted from now on. @throws StorageUnavailableError */
  async renew(accountId: string): Promise<number> {
    return await this.add({ accountId, version: ((await this.latest(accountId)) ?? 0) + 1 });
  }

  /** The version that is present; null before the first. @throws StorageUnavailableError */
  async latest(accountId: string): Promise<number | null> {
    const find = () =>
      this.rows.findOne({ select: { version: true }, where: { accountId }, order: { version: 'DESC' } });
    return (await whileAvailable(find))?.version ?? null;
  }

  /** Versions before the present one. SQL, because of the sub-select. */
  async superseded(accountId: string): Promise<number[]> {
    const rows = await this.rows.query<{ version: number }[]>(
      `SELECT version FROM storage_keys k WHERE account_id = $1 AND EXISTS (
         SELECT FROM storage_keys n WHERE n.account_id = $1 AND n.version > k.version)`,
      [accountId],
    );
    return rows.map(({ version }) => version);
  }

  /**
   * Removes a superseded version under which nothing is stored, nothing is about to be, and nothing waits for its removal.
   * One statement, hence SQL. @returns false when it stays
   */
  async removeUnused({ accountId, version }: KeyId): Promise<boolean> {
    const [gone] = await this.rows.query<[unknown[], number]>(
      `DELETE FROM storage_keys WHERE account_id = $1 AND version = $2
         AND EXISTS (SELECT FROM storage_keys n WHERE n.account_id = $1 AND n.version > $2
           AND n.created_at < now() - make_interval(secs => $4))
         AND NOT EXISTS (SELECT FROM object_removals WHERE starts_with(object_key, $3))
         AND NOT EXISTS (SELECT FROM account_exports WHERE account_id = $1 AND starts_with(prefix, $3))
         AND NOT EXISTS (SELECT FROM recordings WHERE account_id = $1 AND audio_deleted_at IS NULL
           AND starts_with(object_key, $3))
       RETURNING 1`,
      [accountId, version, `${nameOf({ accountId, version })}/`, SUPERSEDED_SECONDS],
    );
    return gone.length > 0;
  }

  /**
   * Makes the keys of accounts that are not there yet, for objects that are stored before their rows. A process may still
   * have a key of an account that was here before, so their version is another.
   */
  async prepare(accountIds: readonly string[]): Promise<number> {
    const version = randomInt(FIRST_VERSION + 1, MAX_VERSION);
    for (const accountId of accountIds) {
      const key = randomBytes(KEY_BYTES);
      const id = { accountId, version };
      this.prepared.set(accountId, { key, row: { ...id, wrappedKey: await this.wrap(key, id) } });
    }
    return version;
  }

  /** Together with the account. */
  async insertPrepared(tx: Tx): Promise<void> {
    for (const { row } of this.prepared.values()) await tx.manager.insert(StorageKey, row);
  }

  /**
   * Wraps all keys by what wraps new ones. May be interrupted and started again at any time. What is encrypted stays as it
   * is. @throws StorageUnavailableError
   */
  async rewrap(): Promise<Rewrapping> {
    const unreadable = new Map<string, KeyId>();
    let rewrapped = 0;
    for await (const { wrappedKey, ...id } of this.wrappedOtherwise()) {
      const wrapped = await this.wrapAnew({ wrappedKey, ...id });
      if (wrapped === null) unreadable.set(nameOf(id), id);
      else rewrapped += (await this.rows.update(id, { wrappedKey: wrapped })).affected ?? 0;
    }
    let left = 0;
    for await (const id of this.wrappedOtherwise()) if (!unreadable.has(nameOf(id))) left++;
    const named = [...unreadable.values()].map(({ accountId, version }) => ({ account_id: accountId, version }));
    return { rewrapped, left, unreadable: named };
  }

  /** Null when nothing here can unwrap it. */
  private async wrapAnew(row: WrappedKey): Promise<string | null> {
    const wrapper = this.wrapper();
    const rewrap = wrapper.canUnwrap(row.wrappedKey) ? wrapper.rewrap?.bind(wrapper) : undefined;
    try {
      if (rewrap) return await readable(row, () => rewrap(row.wrappedKey, contextOf(row)));
      return await this.wrap(await this.unwrap(row), row);
    } catch (error) {
      if (error instanceof UnreadableKeyError) return null;
      throw error;
    }
  }

  private async *wrappedOtherwise(): AsyncGenerator<WrappedKey> {
    const prefix = await this.wrapper().currentPrefix();
    let batch: WrappedKey[] = [];
    do {
      const { accountId, version } = batch.at(-1) ?? { accountId: NIL, version: 0 };
      batch = await this.rows
        .createQueryBuilder('k')
        .select(['k.accountId', 'k.version', 'k.wrappedKey'])
        .where('(k.account_id, k.version) > (:accountId::uuid, :version)', { accountId, version })
        .andWhere('NOT starts_with(k.wrapped_key, :prefix)', { prefix })
        .orderBy({ 'k.accountId': 'ASC', 'k.version': 'ASC' })
        .limit(BATCH)
        .getMany();
      yield* batch;
    } while (batch.length === BATCH);
  }

  /** Two processes that add the same have the key of the first. */
  private async add(id: KeyId): Promise<number> {
    const wrappedKey = await this.wrap(randomBytes(KEY_BYTES), id);
    const insert = this.rows
      .createQueryBuilder()
      .insert()
      .values({ ...id, wrappedKey })
      .orIgnore();
    await whileAvailable(() => insert.execute());
    return id.version;
  }

  private async read(id: KeyId): Promise<Buffer> {
    const row = await whileAvailable(() => this.rows.findOneBy(id));
    if (!row) throw new ObjectNotFoundError(`The key ${nameOf(id)} is gone, and with it what it encrypted`);
    return await this.unwrap(row);
  }

  private async wrap(key: Buffer, id: KeyId): Promise<string> {
    return await this.wrapper().wrap(key, contextOf(id));
  }

  private wrapper(): KeyWrapper {
    const [wrapper] = this.wrappers;
    if (!wrapper) throw new StorageUnavailableError('this process has nothing that wraps keys');
    return wrapper;
  }

  private async unwrap(row: WrappedKey): Promise<Buffer> {
    const wrapper = this.wrappers.find((one) => one.canUnwrap(row.wrappedKey));
    if (!wrapper) {
      throw new UnreadableKeyError(
        `the key ${nameOf(row)} of audio was wrapped by a key that this process lacks: give it the STORAGE_KEY of the ` +
          'others, or the key before as STORAGE_KEY_PREVIOUS or SECRET_KEY_PREVIOUS, or their STORAGE_KMS_URL',
      );
    }
    return await readable(row, () => wrapper.unwrap(row.wrappedKey, contextOf(row)));
  }
}

/** @throws UnreadableKeyError; StorageUnavailableError for an outage of what wraps */
async function readable<T>(row: WrappedKey, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StorageUnavailableError) throw error;
    throw new UnreadableKeyError(
      `the key ${nameOf(row)} of audio cannot be unwrapped: its row was changed, or what wrapped it is gone`,
      { cause: error },
    );
  }
}

const nameOf = ({ accountId, version }: KeyId): string => `${accountId}/k${version}`;
const contextOf = (id: KeyId): string => `storage key ${nameOf(id)}`;

/** An outage of Postgres is no fault of the object. */
async function whileAvailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    throw new StorageUnavailableError('the keys of audio cannot be read: Postgres is unavailable', { cause: error });
  }
}
