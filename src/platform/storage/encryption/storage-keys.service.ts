import { randomBytes, randomInt } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LRUCache } from 'lru-cache';
import { Repository } from 'typeorm';
import { Env } from '../../config/env.js';
import type { Tx } from '../../database/database.service.js';
import { isDatabaseUnavailable } from '../../database/unavailable.js';
import { ObjectNotFoundError, StorageUnavailableError } from '../file-system.js';
import { type KeyWrapper, keyWrappersOf } from './key-wrapper.js';
import { StorageKey } from './storage-key.entity.js';

const KEY_BYTES = 32;
/** Keys in memory: that long this process goes on without what unwraps them, and after the account was closed. */
const KEPT_MS = 3_600_000;
const MAX_KEPT = 10_000;
const NO_ACCOUNT = '00000000-0000-0000-0000-000000000000';
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

/** The keys of accounts, under which their audio is encrypted (docs/decisions/0049). */
@Injectable()
export class StorageKeysService {
  private readonly wrappers: readonly KeyWrapper[];
  private readonly keys = new LRUCache<string, Buffer, KeyId>({
    max: MAX_KEPT,
    ttl: KEPT_MS,
    fetchMethod: (_name, _stale, { context }) => this.read(context),
  });
  /** Of accounts whose rows are not there yet. */
  private readonly prepared = new Map<string, { key: Buffer; row: Omit<StorageKey, 'createdAt'> }>();

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
    return (await this.keys.fetch(nameOf(id), { context: id })) as Buffer;
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
      const key = await this.unwrap({ wrappedKey, ...id }).catch(() => null);
      if (key === null) unreadable.set(nameOf(id), id);
      else rewrapped += (await this.rows.update(id, { wrappedKey: await this.wrap(key, id) })).affected ?? 0;
    }
    let left = 0;
    for await (const id of this.wrappedOtherwise()) if (!unreadable.has(nameOf(id))) left++;
    const named = [...unreadable.values()].map(({ accountId, version }) => ({ account_id: accountId, version }));
    return { rewrapped, left, unreadable: named };
  }

  private async *wrappedOtherwise(): AsyncGenerator<WrappedKey> {
    const prefix = await this.wrapper().currentPrefix();
    let batch: WrappedKey[] = [];
    do {
      const { accountId, version } = batch.at(-1) ?? { accountId: NO_ACCOUNT, version: 0 };
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

  private async latest(accountId: string): Promise<number | null> {
    const find = () =>
      this.rows.findOne({ select: { version: true }, where: { accountId }, order: { version: 'DESC' } });
    return (await whileAvailable(find))?.version ?? null;
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
      throw new StorageUnavailableError(
        `the key ${nameOf(row)} of audio was wrapped by a key that this process lacks: give it the STORAGE_KEY of the ` +
          'others, or the key before as STORAGE_KEY_PREVIOUS or SECRET_KEY_PREVIOUS',
      );
    }
    try {
      return await wrapper.unwrap(row.wrappedKey, contextOf(row));
    } catch (error) {
      if (error instanceof StorageUnavailableError) throw error;
      throw new StorageUnavailableError(`the key ${nameOf(row)} of audio cannot be unwrapped: its row was changed`, {
        cause: error,
      });
    }
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
