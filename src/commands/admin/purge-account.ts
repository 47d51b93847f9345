import { join } from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { selectAccountPair } from '../../access/accounts.queries.js';
import { addedBy, type Extension } from '../../extension.js';
import type { Account } from '../../modules/account/account.entity.js';
import { AccountService } from '../../modules/account/account.service.js';
import { Env } from '../../platform/config/env.js';
import { DatabaseService, type SqlRunner, type Tx } from '../../platform/database/database.service.js';
import { NotFoundError } from '../../platform/errors/errors.js';
import { isResourceId } from '../../platform/database/find-or-fail.js';
import { selectObjectStore } from '../../platform/storage/storage.module.js';
import type { ObjectStore } from '../../platform/storage/object-store.js';
import { Spool } from '../../platform/storage/spool.js';
import { recordByOperator } from './admin-context.js';

/** Rows that one transaction deletes. */
const BATCH = 500;
/** Objects that are removed at the same time. */
const WIDTH = 16;

/** What is left of an account: rows by table, and objects in storage. */
interface Remains {
  rows: Record<string, number>;
  objects: number;
}

/** A table whose rows belong to an account, by a foreign key. */
interface AccountTable {
  /** Quoted where that is needed, as are the columns. */
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
  async (app: INestApplicationContext, options: PurgeOptions): Promise<object> => {
    if (!isResourceId(options.account)) throw new NotFoundError('account');
    const env = app.get(Env);
    const definition = selectObjectStore(env, addedBy(extensions, 'objectStores'));
    const store: ObjectStore & { onApplicationShutdown?(): void } = await definition.open(
      env,
      new Spool(join(env.storageDir, 'spool')),
    );
    try {
      const database = app.get(DatabaseService);
      const account = await findAccount(app, options.account);
      // First the test account, which refers to the other.
      const testId = (await selectAccountPair(database, options.account))?.testId ?? null;
      const ids = testId === null ? [options.account] : [testId, options.account];
      const purges = ids.map((id) => new AccountPurge(database, store, id));
      refuseWrongStore(env, await remainsOf(purges), options);
      if (account) await suspend(app, account, options);
      const removed = { recordings: 0, objects: 0 };
      for (const purge of purges) {
        const { recordings, objects } = await purge.run();
        removed.recordings += recordings;
        removed.objects += objects;
      }
      recordByOperator(app, 'account removed', { account_id: options.account });
      const left = await remainsOf(purges);
      const isClean = left.objects === 0 && Object.values(left.rows).every((count) => count === 0);
      if (!isClean) process.exitCode = 1;
      return {
        account: options.account,
        found: account !== null,
        removed,
        left: { ...left.rows, [`objects in ${store.bucket}/${options.account}/`]: left.objects },
        advice: isClean ? 'Nothing is left.' : 'Run it again when uploads under way have ended, at most an hour later.',
      };
    } finally {
      store.onApplicationShutdown?.();
    }
  };

/** Of an account and its test account together. */
async function remainsOf(purges: readonly AccountPurge[]): Promise<Remains> {
  const sum: Remains = { rows: {}, objects: 0 };
  for (const purge of purges) {
    const { rows, objects } = await purge.remains();
    for (const [table, count] of Object.entries(rows)) sum.rows[table] = (sum.rows[table] ?? 0) + count;
    sum.objects += objects;
  }
  return sum;
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
function refuseWrongStore({ storageDriver }: Env, { rows, objects }: Remains, { withoutAudio }: PurgeOptions): void {
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
    return removed;
  }

  async remains(): Promise<Remains> {
    const rows: Record<string, number> = {
      accounts: await countRowsOf(this.database, { name: 'accounts', column: 'id' }, this.accountId),
    };
    for (const table of await selectAccountTables(this.database)) {
      rows[table.name] = await countRowsOf(this.database, table, this.accountId);
    }
    rows.object_removals = await countRemovalsOf(this.database, this.accountId);
    return { rows, objects: await this.store.countUnder(this.accountId) };
  }

  /** Events first, because their deliveries go with them by an index that `deliveries` lacks for its account. */
  private async deleteRows(): Promise<void> {
    const tables = await selectAccountTables(this.database);
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
      for (let i = 0; i < keys.length; i += WIDTH) {
        await Promise.all(keys.slice(i, i + WIDTH).map((key) => this.store.remove(key)));
      }
      await deleteRemovals(this.database, keys);
      removed += keys.length;
    }
  }
}

/**
 * Those that can be found by their account, those of extensions too: the column is the first of an index. The rows of the
 * others go with what they belong to, or in the end with the account. SQL, because the catalogue of Postgres tells it.
 */
async function selectAccountTables(runner: SqlRunner): Promise<AccountTable[]> {
  return await runner.query<AccountTable>(
    `SELECT conrelid::regclass::text AS name, quote_ident(attname) AS column
     FROM pg_constraint c JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
     WHERE contype = 'f' AND confrelid = 'accounts'::regclass AND cardinality(conkey) = 1 AND EXISTS (
       SELECT FROM pg_index WHERE indrelid = conrelid AND indkey[0] = conkey[1] AND indpred IS NULL AND indisvalid)
     ORDER BY 1`,
  );
}

/** SQL, because the name of the table is data. */
async function countRowsOf(runner: SqlRunner, { name, column }: AccountTable, accountId: string): Promise<number> {
  const [row] = await runner.query<{ count: number }>(
    `SELECT count(*)::float8 AS count FROM ${name} WHERE ${column} = $1`,
    [accountId],
  );
  return row?.count ?? 0;
}

/** SQL, because TypeORM's DELETE has no LIMIT. @returns how many. */
async function deleteRowsOf(
  runner: SqlRunner,
  { name, column }: AccountTable,
  accountId: string,
  limit: number,
): Promise<number> {
  const gone = await runner.query(
    `DELETE FROM ${name} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${name} WHERE ${column} = $1 LIMIT $2)) RETURNING 1`,
    [accountId, limit],
  );
  return gone.length;
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
