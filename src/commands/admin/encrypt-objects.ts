import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { NIL } from 'uuid';
import { selectAccountPair } from '../../access/accounts.queries.js';
import type { Extension } from '../../extension.js';
import { AccountService } from '../../modules/account/account.service.js';
import { forEachAtOnce } from '../../platform/concurrency/concurrency-limit.js';
import { Env } from '../../platform/config/env.js';
import { DatabaseService, type SqlRunner, type Tx } from '../../platform/database/database.service.js';
import { plainKeyOf } from '../../platform/storage/encryption/encrypted-key.js';
import { StorageKeysService } from '../../platform/storage/encryption/storage-keys.service.js';
import { freeBytesOf, ObjectNotFoundError, StorageUnavailableError } from '../../platform/storage/file-system.js';
import {
  claimReservedObject,
  giveUpReplacement,
  lockObjects,
  removeInAnHour,
} from '../../platform/storage/object-removals.service.js';
import type { ObjectStore } from '../../platform/storage/object-store.js';
import type { Spool } from '../../platform/storage/spool.js';
import { recordByOperator } from './admin-context.js';
import { INCOMPLETE, progressLines } from './backup-commands.js';
import { withAudio } from './object-store.js';

/** Accounts, and recordings, that one statement reads. */
const BATCH = 200;
/** Objects that are copied at the same time: a store answers one after a while. */
const WIDTH = 4;
const MEGABYTE = 1_000_000;
const DEFAULT_RATE = 20;
/** What an object counts for at least, as small ones cost time, too. */
const MIN_BYTES = 50_000;
/** Between two looks at whether a backup has ended. */
const WAIT_MS = 2000;
/** How often what was stored meanwhile is looked for. */
const PASSES = 3;
/** Recordings without audio that are named. */
const NAMED = 1000;

interface EncryptOptions {
  account?: string;
  newKey?: true;
  decrypt?: true;
  /** Megabytes a second. */
  rate?: number;
}

/** Stores audio anew that is not as new audio is stored now. Exit code 2 when something is left. */
export const encryptObjects =
  (extensions: Extension[]) =>
  async (app: INestApplicationContext, options: EncryptOptions): Promise<object> => {
    const env = app.get(Env);
    refuseContradiction(env, options);
    return await withAudio(app, extensions, async (store, spool) => {
      const keys = app.get(StorageKeysService);
      const moves = new ObjectMoves(env, app.get(DatabaseService), { store, spool, keys }, options);
      for await (const id of accountIds(app, options.account)) await moves.run(id);
      const { counts, lost } = moves;
      recordByOperator(app, 'audio stored anew', {
        moved: `${counts.moved}`,
        ...(options.account !== undefined && { account_id: options.account }),
      });
      if (lost.size + counts.left + counts.accountsElsewhere > 0) process.exitCode = INCOMPLETE;
      return {
        recordings: { moved: counts.moved, left: counts.left, without_audio: lost.size },
        bytes: counts.bytes,
        accounts: { done: counts.accounts, in_another_process: counts.accountsElsewhere },
        keys: { made: counts.keysMade, removed: counts.keysRemoved, waiting: counts.keysWaiting },
        recordings_without_audio: [...lost].slice(0, NAMED),
        advice: adviceOn(counts, options),
      };
    });
  };

function refuseContradiction({ storageEncryption }: Env, { newKey, decrypt }: EncryptOptions): void {
  const isOff = storageEncryption === 'off';
  if (isOff && newKey) throw new Error('Set STORAGE_ENCRYPTION, as for the service: without it nothing has a key.');
  if (isOff && !decrypt)
    throw new Error('STORAGE_ENCRYPTION is off. Set it as for the service, or add --decrypt to store all audio plain.');
  if (!isOff && decrypt)
    throw new Error(
      'STORAGE_ENCRYPTION is set, so that new audio is encrypted: leave out --decrypt, or set it to off.',
    );
}

interface Counts {
  accounts: number;
  accountsElsewhere: number;
  moved: number;
  bytes: number;
  left: number;
  keysMade: number;
  keysRemoved: number;
  keysWaiting: number;
  /** Encrypted exports of accounts whose audio is to be plain. */
  exports: number;
}

function adviceOn({ left, accountsElsewhere, keysWaiting, exports }: Counts, { decrypt }: EncryptOptions): string {
  const sentences: string[] = [];
  if (accountsElsewhere > 0) sentences.push(`Another process works on ${accountsElsewhere} accounts.`);
  if (left > 0) sentences.push('Some audio was stored otherwise meanwhile: run this command again.');
  if (keysWaiting > 0)
    sentences.push(
      'Earlier keys are still in use, by exports for up to a day and by audio that was replaced for an hour, or are younger ' +
        'than two hours: run this command again without --new-key tomorrow, which removes them.',
    );
  if (sentences.length === 0) sentences.push('All audio is stored as new audio is.');
  if (decrypt) {
    const also = exports > 0 ? `, and for ${exports} encrypted exports for up to a day` : '';
    sentences.push(`Keep STORAGE_KEY, SECRET_KEY or the KMS for the backups of before${also}.`);
  }
  return sentences.join(' ');
}

/** The accounts, or one with its test account. @throws NotFoundError */
async function* accountIds(app: INestApplicationContext, only?: string): AsyncGenerator<string> {
  const database = app.get(DatabaseService);
  if (only !== undefined) {
    const { id } = await app.get(AccountService).get(only);
    const testId = (await selectAccountPair(database, id))?.testId ?? null;
    yield* testId === null || testId === id ? [id] : [id, testId];
    return;
  }
  for (let last: string = NIL; ;) {
    const ids = await selectAccounts(database, last);
    yield* ids;
    if (ids.length < BATCH) return;
    last = ids.at(-1) as string;
  }
}

/** A recording whose object is to be replaced. */
interface Stored {
  id: string;
  /** As text, because a `Date` has no microseconds. */
  createdAt: string;
  objectKey: string;
  bytes: number;
}

/** Why an object was not replaced by its copy: a backup reads it, or its recording is gone or has another. */
type Outcome = 'moved' | 'backup' | 'gone';

/**
 * Copies objects to keys that were never used, and gives them to their recordings. What was replaced is removed an hour
 * later, for those who read it. It may end at any moment and begin again: what is to do, the keys of recordings say.
 */
class ObjectMoves {
  readonly counts: Counts = {
    accounts: 0,
    accountsElsewhere: 0,
    moved: 0,
    bytes: 0,
    left: 0,
    keysMade: 0,
    keysRemoved: 0,
    keysWaiting: 0,
    exports: 0,
  };
  /** Ids of recordings whose audio the storage does not have, or that is damaged. */
  readonly lost = new Set<string>();
  private readonly progress = progressLines();
  /** When the next object may be copied, as `performance.now`. */
  private nextAt = 0;

  constructor(
    private readonly env: Env,
    private readonly database: DatabaseService,
    private readonly storage: { store: ObjectStore; spool: Spool; keys: StorageKeysService },
    private readonly options: EncryptOptions,
  ) {}

  /** One account is the work of one process. */
  async run(accountId: string): Promise<void> {
    const isMine = await this.database.transact(async (tx) => {
      if (!(await holdAccount(tx, accountId))) return false;
      await this.moveAll(accountId);
      return true;
    });
    if (isMine) this.counts.accounts++;
    else this.counts.accountsElsewhere++;
  }

  private async moveAll(accountId: string): Promise<void> {
    const { keys } = this.storage;
    const hasKey = (await keys.latest(accountId)) !== null;
    if (this.options.newKey && (hasKey || (await this.has(accountId, NOTHING)))) {
      await keys.renew(accountId);
      this.counts.keysMade++;
    }
    if (await this.has(accountId, this.options.decrypt ? PLAIN : NOTHING)) {
      // An upload may have asked for a key before this command made the present one.
      let left = 0;
      for (let pass = 0; pass < PASSES; pass++) {
        await this.moveOthers(accountId, await this.patternOf(accountId));
        left = await countOthers(this.database, accountId, await this.patternOf(accountId), [...this.lost]);
        if (left === 0) break;
      }
      this.counts.left += left;
    }
    for (const version of await keys.superseded(accountId)) {
      if (await keys.removeUnused({ accountId, version })) this.counts.keysRemoved++;
      else this.counts.keysWaiting++;
    }
    if (this.options.decrypt) this.counts.exports += await countEncryptedExports(this.database, accountId);
  }

  /** All that have other keys than these. */
  private async moveOthers(accountId: string, pattern: string): Promise<void> {
    for (let last: Stored | null = null; ;) {
      const batch: Stored[] = await selectOthers(this.database, accountId, pattern, last);
      const others = batch.filter(({ id }) => !this.lost.has(id));
      await forEachAtOnce(WIDTH, others, (one) => this.moveWhenFree(one));
      if (batch.length < BATCH) return;
      last = batch.at(-1) as Stored;
    }
  }

  private async has(accountId: string, pattern: string): Promise<boolean> {
    return (await selectOthers(this.database, accountId, pattern, null, 1)).length > 0;
  }

  /** What the keys of objects match that are stored as new ones are. */
  private async patternOf(accountId: string): Promise<string> {
    return this.options.decrypt ? PLAIN : `^${accountId}/k${await this.storage.keys.current(accountId)}/`;
  }

  private async moveWhenFree(one: Stored): Promise<void> {
    await this.pace(one.bytes);
    await this.requireRoom();
    await this.waitForBackup();
    while ((await this.move(one)) === 'backup') await this.waitForBackup();
  }

  private async move({ id, objectKey, bytes }: Stored): Promise<Outcome> {
    const target = await this.storage.store.keyFor(unusedKey(objectKey));
    await removeInAnHour(this.database, target, { isReplaced: false });
    let outcome: Outcome = 'gone';
    try {
      await this.copy(objectKey, target, bytes);
      outcome = await replaceObject(this.database, id, { objectKey, target });
      if (outcome === 'moved') this.note(bytes);
    } catch (error) {
      if (error instanceof StorageUnavailableError && error.mayArriveLate) throw error;
      await giveUpReplacement(this.database, target);
      if (!(error instanceof ObjectNotFoundError)) throw error;
      // Not if it was deleted meanwhile.
      if (await hasObject(this.database, id, objectKey)) this.lost.add(id);
      return 'gone';
    }
    if (outcome !== 'moved') await giveUpReplacement(this.database, target);
    return outcome;
  }

  /** Holds a chunk in memory. @throws ObjectNotFoundError when it is gone or damaged, StorageUnavailableError */
  private async copy(from: string, to: string, bytes: number): Promise<void> {
    const { store, spool } = this.storage;
    await spool.withFile(async (file) => {
      for await (const piece of (await store.read(from)) as AsyncIterable<Uint8Array>) await file.write(piece);
      if (file.sizeBytes !== bytes) throw new ObjectNotFoundError(`${from} has another size than recorded`);
      await store.put(to, file);
    });
  }

  private note(bytes: number): void {
    this.counts.moved++;
    this.counts.bytes += bytes;
    this.progress(`${this.counts.moved} recordings, ${Math.round(this.counts.bytes / MEGABYTE)} MB`);
  }

  private async pace(bytes: number): Promise<void> {
    const now = performance.now();
    const start = Math.max(now, this.nextAt);
    const { rate = DEFAULT_RATE } = this.options;
    this.nextAt = start + (Math.max(bytes, MIN_BYTES) / (rate * MEGABYTE)) * 1000;
    await delay(start - now);
  }

  /** Copies stay beside what they replace for an hour: uploads must not be refused because of that. */
  private async requireRoom(): Promise<void> {
    const { storageDir, storageMinFreeBytes } = this.env;
    if ((await freeBytesOf(storageDir)) < storageMinFreeBytes)
      throw new Error('The disk at STORAGE_DIR is almost full. Go on in an hour, when what was replaced is removed.');
  }

  private async waitForBackup(): Promise<void> {
    while (!(await lockObjects(this.database))) {
      this.progress('A backup is in progress, which needs the objects as they are. Waiting for its end.');
      await delay(WAIT_MS);
    }
  }
}

/** Of the keys of objects; POSIX. */
const PLAIN = '^[^/]+/(?!k[0-9]+/)';
const NOTHING = '^$';
/** At the end of a name, of the copy that it was before. */
const COPY_NAME = /(?:-m[\da-f]{8})?(\.\w+)$/;

/** Of a key that is used again, the store might still be removing what was there. */
const unusedKey = (objectKey: string): string =>
  plainKeyOf(objectKey).replace(COPY_NAME, `-m${randomBytes(4).toString('hex')}$1`);

/** SQL, because TypeORM has no advisory locks. Of a transaction without a snapshot, which keeps nothing from being cleaned. */
async function holdAccount(tx: Tx, accountId: string): Promise<boolean> {
  await tx.query('SET LOCAL idle_in_transaction_session_timeout = 0');
  const [row] = await tx.query<{ held: boolean }>(
    `SELECT pg_try_advisory_xact_lock(hashtextextended('store anew:' || $1, 0)) AS held`,
    [accountId],
  );
  return row?.held ?? false;
}

async function selectAccounts(runner: SqlRunner, after: string): Promise<string[]> {
  const rows = await runner.query<{ id: string }>('SELECT id FROM accounts WHERE id > $1 ORDER BY id LIMIT $2', [
    after,
    BATCH,
  ]);
  return rows.map(({ id }) => id);
}

const OTHERS = `account_id = $1 AND audio_deleted_at IS NULL AND file_size_bytes > 0 AND object_key !~ $2`;

/** Recordings of an account whose objects have other keys, the oldest first. SQL, because of the pattern. */
async function selectOthers(
  runner: SqlRunner,
  accountId: string,
  pattern: string,
  after: Stored | null,
  limit = BATCH,
): Promise<Stored[]> {
  return await runner.query<Stored>(
    `SELECT id, created_at::text AS "createdAt", object_key AS "objectKey", file_size_bytes AS bytes FROM recordings
     WHERE ${OTHERS} AND (created_at, id) > ($3::timestamptz, $4::uuid) ORDER BY created_at, id LIMIT $5`,
    [accountId, pattern, after?.createdAt ?? '-infinity', after?.id ?? NIL, limit],
  );
}

async function countOthers(
  runner: SqlRunner,
  accountId: string,
  pattern: string,
  without: readonly string[],
): Promise<number> {
  const [row] = await runner.query<{ count: number }>(
    `SELECT count(*)::float8 AS count FROM recordings WHERE ${OTHERS} AND id <> ALL ($3::uuid[])`,
    [accountId, pattern, without],
  );
  return row?.count ?? 0;
}

/** One at most. */
async function countEncryptedExports(runner: SqlRunner, accountId: string): Promise<number> {
  const rows = await runner.query(
    'SELECT 1 FROM account_exports WHERE account_id = $1 AND expires_at > now() AND prefix !~ $2',
    [accountId, PLAIN],
  );
  return rows.length;
}

async function hasObject(runner: SqlRunner, id: string, objectKey: string): Promise<boolean> {
  const rows = await runner.query(
    'SELECT 1 FROM recordings WHERE id = $1 AND object_key = $2 AND audio_deleted_at IS NULL',
    [id, objectKey],
  );
  return rows.length > 0;
}

/** Gives a recording the copy of its object, if it has that one still. @throws Error when the reservation has expired */
async function replaceObject(
  database: DatabaseService,
  id: string,
  { objectKey, target }: { objectKey: string; target: string },
): Promise<Outcome> {
  return await database.transact(async (tx) => {
    // Not waited for, because a connection and the lock of the row would be held meanwhile.
    if (!(await lockObjects(tx))) return 'backup';
    const replaced = await tx.query(
      `UPDATE recordings SET object_key = $3 WHERE id = $1 AND object_key = $2 AND audio_deleted_at IS NULL RETURNING 1`,
      [id, objectKey, target],
    );
    if (replaced.length === 0) return 'gone';
    const claimed = await tx.query(claimReservedObject('$1'), [target]);
    if (claimed.length === 0) throw new Error(`the reservation of ${target} expired: run this command again`);
    await removeInAnHour(tx, objectKey, { isReplaced: true });
    return 'moved';
  });
}
