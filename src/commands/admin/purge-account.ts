import type { INestApplicationContext } from '@nestjs/common';
import { endAccountExport, selectAccountPair } from '../../access/accounts.queries.js';
import type { Extension } from '../../extension.js';
import type { Account } from '../../modules/account/account.entity.js';
import { AccountService } from '../../modules/account/account.service.js';
import { countArchivedRows, selectArchivedTables } from '../../modules/archives/account-tables.js';
import { forEachAtOnce } from '../../platform/concurrency/concurrency-limit.js';
import { Env } from '../../platform/config/env.js';
import { DatabaseService, type SqlRunner, type Tx } from '../../platform/database/database.service.js';
import { NotFoundError } from '../../platform/errors/errors.js';
import { isResourceId } from '../../platform/database/find-or-fail.js';
import { resourceTime } from '../../platform/http/timestamps.js';
import { RedisService } from '../../platform/redis/redis.service.js';
import type { ObjectStore } from '../../platform/storage/object-store.js';
import { recordByOperator } from './admin-context.js';
import { withStoredBytes } from './object-store.js';

/** Keys that Redis looks at for one answer. */
const SCAN = 1000;
/** Rows that one transaction deletes. */
const BATCH = 500;
/** Objects that are removed at the same time. */
const WIDTH = 16;

/** Rows of an account by table, and objects in storage. */
interface Holdings {
  rows: Record<string, number>;
  objects: number;
}

/** A column that says whose the rows of a table are. */
interface AccountColumn {
  /** Of the table; quoted where that is needed, as is the column. */
  name: string;
  column: string;
}

interface PurgeOptions {
  account: string;
  yes?: true;
  withoutAudio?: true;
}

/** Removes an account with all that belongs to it, and counts what is left. Exit code 1 when that is not nothing. */
export const purgeAccount =
  (extensions: Extension[]) =>
  async (app: INestApplicationContext, options: PurgeOptions): Promise<object> =>
    await withStore(app, extensions, options.account, async (store) => {
      const database = app.get(DatabaseService);
      const account = await findAccount(app, options.account);
      // First the test account, which refers to the other.
      const testId = (await selectAccountPair(database, options.account))?.testId ?? null;
      const ids = testId === null ? [options.account] : [testId, options.account];
      const purges = ids.map((id) => new AccountPurge(database, store, id));
      const before = sumOf(await Promise.all(purges.map((purge) => purge.holdings())));
      refuseWrongStore(app.get(Env), before, options);
      if (account) await suspend(app, account, options);
      const removed = { recordings: 0, objects: 0 };
      for (const purge of purges) {
        const { recordings, objects } = await purge.run();
        removed.recordings += recordings;
        removed.objects += objects;
      }
      recordByOperator(app, 'account removed', { account_id: options.account });
      await removeRedisKeys(app.get(RedisService), ids);
      const left = await countLeft(app, store, ids);
      return {
        account: options.account,
        test_account: testId,
        found: account !== null,
        removed: { ...removed, rows: before.rows },
        left: left.counts,
        at: resourceTime(new Date()),
        advice: left.isNothing
          ? 'Nothing is left.'
          : 'Run it again when uploads under way have ended, at most an hour later.',
      };
    });

/** Counts what is left of an account that was removed, and changes nothing. Exit code 1 when that is not nothing. */
export const verifyClosed =
  (extensions: Extension[]) =>
  async (app: INestApplicationContext, options: { account: string }): Promise<object> =>
    await withStore(app, extensions, options.account, async (store) => {
      const left = await countLeft(app, store, [options.account]);
      return {
        account: options.account,
        left: left.counts,
        at: resourceTime(new Date()),
        advice: left.isNothing ? 'Nothing is left.' : 'Run account:purge.',
      };
    });

async function withStore(
  app: INestApplicationContext,
  extensions: Extension[],
  accountId: string,
  use: (store: ObjectStore) => Promise<object>,
): Promise<object> {
  if (!isResourceId(accountId)) throw new NotFoundError('account');
  return await withStoredBytes(app.get(Env), extensions, use);
}

/** Of an account and its test account together, in every table of the catalogue, the storage and Redis. */
async function countLeft(
  app: INestApplicationContext,
  store: ObjectStore,
  ids: readonly string[],
): Promise<{ counts: Record<string, number>; isNothing: boolean }> {
  const { rows, objects } = sumOf(
    await Promise.all(ids.map((id) => new AccountPurge(app.get(DatabaseService), store, id).remains())),
  );
  const keys = await redisKeysOf(app.get(RedisService), ids);
  const counts = {
    ...rows,
    [`objects in ${store.bucket}/${ids.at(-1)}/`]: objects,
    'keys in Redis': keys.length,
  };
  const isNothing = Object.values(counts).every((count) => count === 0);
  if (!isNothing) process.exitCode = 1;
  return { counts, isNothing };
}

function sumOf(holdings: readonly Holdings[]): Holdings {
  const sum: Holdings = { rows: {}, objects: 0 };
  for (const { rows, objects } of holdings) {
    for (const [table, count] of Object.entries(rows)) sum.rows[table] = (sum.rows[table] ?? 0) + count;
    sum.objects += objects;
  }
  return sum;
}

/** Those of its limits, which would expire by themselves. @throws Error when Redis does not answer. */
async function redisKeysOf(redis: RedisService, ids: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const id of ids) {
    let cursor = '0';
    do {
      const from = cursor;
      const answer = await redis.tryCommand((client) => client.scan(from, 'MATCH', `*${id}*`, 'COUNT', SCAN));
      if (answer === null) throw new Error('Redis does not answer, so that its keys cannot be counted. Run it again.');
      found.push(...answer[1]);
      [cursor] = answer;
    } while (cursor !== '0');
  }
  return found;
}

async function removeRedisKeys(redis: RedisService, ids: readonly string[]): Promise<void> {
  for (const key of await redisKeysOf(redis, ids)) await redis.tryCommand((client) => client.unlink(key));
}

/** Null when an earlier run has removed it: then only objects may be left. */
async function findAccount(app: INestApplicationContext, id: string): Promise<Account | null> {
  try {
    return await app.get(AccountService).get(id);
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

async function suspend(app: INestApplicationContext, { id, name, status }: Account, { yes }: PurgeOptions) {
  if (status === 'suspended') return;
  if (!yes) throw new Error(`The account ${id} ("${name}") is active. Suspend it first, or add --yes.`);
  await app.get(AccountService).update(id, { status: 'suspended' });
}

/** Rows without their audio would leave it in the real store for ever. */
function refuseWrongStore({ storageDriver }: Env, { rows, objects }: Holdings, { withoutAudio }: PurgeOptions): void {
  const { recordings = 0 } = rows;
  if (recordings === 0 || objects > 0 || withoutAudio) return;
  throw new Error(
    `The account has ${recordings} recordings, and this storage (${storageDriver}) none of their audio. Use the ` +
      'environment of the service, or add --without-audio if the audio is lost.',
  );
}

/**
 * Removes an account with everything that belongs to it, in batches that are each complete. One that was interrupted is
 * continued by the next, also when only objects are left. The account must be suspended.
 */
export class AccountPurge {
  constructor(
    private readonly database: DatabaseService,
    private readonly store: ObjectStore,
    private readonly accountId: string,
  ) {}

  /** @returns how many recordings and objects were removed this time. */
  async run(): Promise<{ recordings: number; objects: number }> {
    await endAccountExport(this.database, this.accountId);
    const removed = { recordings: 0, objects: await this.removeDueObjects() };
    do {
      for (;;) {
        const recordings = await deleteRecordingsOf(this.database, this.accountId, BATCH);
        removed.recordings += recordings;
        removed.objects += await this.removeDueObjects();
        if (recordings === 0) break;
      }
      await this.deleteRows();
    } while (!(await this.database.transact((tx) => deleteEmptyAccount(tx, this.accountId))));
    removed.objects += await this.store.removeUnder(this.accountId);
    await this.database.query(`DELETE FROM live_audio a WHERE ${WITHOUT_RECORDING}`);
    return removed;
  }

  /** What there is to remove, by indexes. */
  async holdings(): Promise<Holdings> {
    const rows: Record<string, number> = {};
    for (const table of await selectArchivedTables(this.database)) {
      rows[table.name] = await countArchivedRows(this.database, table, [this.accountId]);
    }
    for (const table of await selectIndexedColumns(this.database)) {
      rows[table.name] ??= await countRowsOf(this.database, table, this.accountId);
    }
    return { rows, objects: await this.store.countUnder(this.accountId) };
  }

  /**
   * What is left in every table that says whose its rows are, whether by an index or not. Rows of all other tables refer to
   * such rows by foreign keys, and cannot be there without them; live audio has none, so that all without a recording counts.
   */
  async remains(): Promise<Holdings> {
    const rows: Record<string, number> = {
      accounts: await countRowsOf(this.database, { name: 'accounts', column: 'id' }, this.accountId),
    };
    for (const table of await selectAccountColumns(this.database)) {
      rows[table.name] = (rows[table.name] ?? 0) + (await countRowsOf(this.database, table, this.accountId));
    }
    rows.live_audio = await countOrphanAudio(this.database);
    rows.object_removals = (rows.object_removals ?? 0) + (await countRemovalsOf(this.database, this.accountId));
    return { rows, objects: await this.store.countUnder(this.accountId) };
  }

  /** Events first, because their deliveries go with them by an index that `deliveries` lacks for its account. */
  private async deleteRows(): Promise<void> {
    const tables = await selectIndexedColumns(this.database);
    const isEvents = ({ name }: { name: string }): boolean => name === 'events';
    for (const table of [...tables.filter(isEvents), ...tables.filter((one) => !isEvents(one))]) {
      while ((await deleteRowsOf(this.database, table, this.accountId, BATCH)) > 0);
    }
  }

  private async removeDueObjects(): Promise<number> {
    let removed = 0;
    for (;;) {
      const keys = await selectDueObjectsOf(this.database, this.accountId, BATCH);
      if (keys.length === 0) return removed;
      await forEachAtOnce(WIDTH, keys, (key) => this.store.remove(key));
      await deleteRemovals(this.database, keys);
      removed += keys.length;
    }
  }
}

/**
 * Those that can be found by their account, those of extensions too: the column is the first of an index. The rows of the
 * others go with what they belong to, or in the end with the account. SQL, because the catalogue of Postgres tells it.
 */
async function selectIndexedColumns(runner: SqlRunner): Promise<AccountColumn[]> {
  return await runner.query<AccountColumn>(
    `SELECT conrelid::regclass::text AS name, quote_ident(attname) AS column
     FROM pg_constraint c JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
     WHERE contype = 'f' AND confrelid = 'accounts'::regclass AND cardinality(conkey) = 1 AND EXISTS (
       SELECT FROM pg_index WHERE indrelid = conrelid AND indkey[0] = conkey[1] AND indpred IS NULL AND indisvalid)
     ORDER BY 1`,
  );
}

/** All of them, those of extensions too: a foreign key or a column `account_id`. SQL as above. */
async function selectAccountColumns(runner: SqlRunner): Promise<AccountColumn[]> {
  return await runner.query<AccountColumn>(
    `SELECT c.oid::regclass::text AS name, quote_ident(a.attname) AS column
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid) AND a.attnum > 0 AND NOT a.attisdropped
       AND (a.attname = 'account_id' OR EXISTS (
         SELECT FROM pg_constraint WHERE contype = 'f' AND confrelid = 'accounts'::regclass AND conrelid = c.oid
           AND conkey = ARRAY[a.attnum]))
     ORDER BY 1`,
  );
}

/** SQL, because the name of the table is data. */
async function countRowsOf(runner: SqlRunner, { name, column }: AccountColumn, accountId: string): Promise<number> {
  const [row] = await runner.query<{ count: number }>(
    `SELECT count(*)::float8 AS count FROM ${name} WHERE ${column} = $1`,
    [accountId],
  );
  return row?.count ?? 0;
}

/** SQL, because TypeORM's DELETE has no LIMIT. @returns how many. */
async function deleteRowsOf(
  runner: SqlRunner,
  { name, column }: AccountColumn,
  accountId: string,
  limit: number,
): Promise<number> {
  const gone = await runner.query(
    `DELETE FROM ${name} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${name} WHERE ${column} = $1 LIMIT $2)) RETURNING 1`,
    [accountId, limit],
  );
  return gone.length;
}

/** For rows `a` of `live_audio`, which has no foreign key (docs/decisions/0032). */
const WITHOUT_RECORDING = 'NOT EXISTS (SELECT FROM recordings r WHERE r.id = a.recording_id)';

async function countOrphanAudio(runner: SqlRunner): Promise<number> {
  const [row] = await runner.query<{ count: number }>(
    `SELECT count(*)::float8 AS count FROM live_audio a WHERE ${WITHOUT_RECORDING}`,
  );
  return row?.count ?? 0;
}

/** Puts their objects on the list of those to remove, in the same statement: hence SQL. @returns how many. */
async function deleteRecordingsOf(runner: SqlRunner, accountId: string, limit: number): Promise<number> {
  const gone = await runner.query(
    `WITH gone AS (
       DELETE FROM recordings WHERE id IN (SELECT id FROM recordings WHERE account_id = $1 LIMIT $2)
       RETURNING object_key, audio_deleted_at),
     removed AS (
       INSERT INTO object_removals (object_key, remove_after)
       SELECT object_key, now() FROM gone WHERE audio_deleted_at IS NULL)
     SELECT 1 FROM gone`,
    [accountId, limit],
  );
  return gone.length;
}

/** Due, or begun by a worker: no upload can claim those. SQL, because the clock of the database decides. */
async function selectDueObjectsOf(runner: SqlRunner, accountId: string, limit: number): Promise<string[]> {
  const rows = await runner.query<{ key: string }>(
    `SELECT object_key AS key FROM object_removals WHERE starts_with(object_key, $1) AND (remove_after <= now() OR attempts > 0)
     LIMIT $2`,
    [`${accountId}/`, limit],
  );
  return rows.map(({ key }) => key);
}

/** SQL, because many keys are one parameter. */
async function deleteRemovals(runner: SqlRunner, keys: readonly string[]): Promise<void> {
  await runner.query('DELETE FROM object_removals WHERE object_key = ANY ($1)', [keys]);
}

/** Those that are due, and reservations of uploads under way. SQL, because TypeORM has no `starts_with`. */
async function countRemovalsOf(runner: SqlRunner, accountId: string): Promise<number> {
  const [row] = await runner.query<{ count: number }>(
    'SELECT count(*)::float8 AS count FROM object_removals WHERE starts_with(object_key, $1)',
    [`${accountId}/`],
  );
  return row?.count ?? 0;
}

/**
 * Deletes the account, unless an upload that was under way has committed a recording meanwhile. SQL, because the row is
 * locked first: from then on no row can refer to it. @returns whether it is gone.
 */
async function deleteEmptyAccount(tx: Tx, accountId: string): Promise<boolean> {
  await tx.query('SELECT 1 FROM accounts WHERE id = $1 FOR UPDATE', [accountId]);
  const left = await tx.query('SELECT 1 FROM recordings WHERE account_id = $1 LIMIT 1', [accountId]);
  if (left.length > 0) return false;
  await tx.query('DELETE FROM accounts WHERE id = $1', [accountId]);
  return true;
}
