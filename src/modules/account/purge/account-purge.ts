import type { DatabaseService } from '../../../platform/database/database.service.js';
import type { ObjectStore } from '../../../platform/storage/object-store.js';
import {
  countRemovalsOf,
  countRowsOf,
  deleteEmptyAccount,
  deleteRecordingsOf,
  deleteRemovals,
  deleteRowsOf,
  selectAccountTables,
  selectDueObjectsOf,
} from './account-purge.queries.js';

/** What is left of an account: rows by table, and objects in storage. */
export interface Remains {
  rows: Record<string, number>;
  objects: number;
}

/** Rows that one transaction deletes. */
const BATCH = 500;
/** Objects that are removed at the same time. */
const WIDTH = 16;

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
