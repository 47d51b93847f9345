import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { DatabaseService, type SqlRunner, type Tx } from '../database/database.service.js';
import { ReconcilerService } from '../queue/reconciler.service.js';
import { ObjectRemoval } from './object-removal.entity.js';
import { ObjectStore } from './object-store.js';

/** Objects that the reconciler removes at once. */
const BATCH = 20;
/** A round of the reconciler begins no further batch after this time. */
const ROUND_MS = 5000;
const NOW = { removeAfter: () => 'now()' };
const UNCOUNTED = { accountId: null, bytes: null, durationMs: null };

/**
 * The list of objects to remove. An upload puts its object's key on the list before it writes the object, and takes it
 * off in the transaction that inserts the recording. So no crash leaves an orphan, and the store is never listed.
 */
@Injectable()
export class ObjectRemovalsService implements OnModuleInit {
  private readonly logger = new Logger(ObjectRemovalsService.name);

  constructor(
    private readonly database: DatabaseService,
    @InjectRepository(ObjectRemoval) private readonly removals: Repository<ObjectRemoval>,
    private readonly store: ObjectStore,
    private readonly reconciler: ReconcilerService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('remove objects', () => this.removeDue(), { repairs: 'object_abandoned' });
  }

  /** Removes the object of a row that this transaction deletes: after the commit, or when the store is available. */
  async discard(tx: Tx, key: string): Promise<void> {
    await tx.manager.insert(ObjectRemoval, { objectKey: key, ...NOW });
    tx.afterCommit(() => void this.remove(key).catch(() => undefined));
  }

  /**
   * Removes a reserved object that will not be kept, and counts it no more.
   * @param mayArriveLate the store may still be writing it: it is removed again when its reservation expires.
   */
  async cancel(key: string, { mayArriveLate = false } = {}): Promise<void> {
    try {
      await this.removals.update({ objectKey: key }, { ...UNCOUNTED, ...(mayArriveLate ? {} : NOW) });
      if (mayArriveLate) return await this.store.remove(key);
      await this.remove(key);
    } catch (error) {
      this.logger.warn({ err: error, key }, 'object removal postponed');
    }
  }

  /**
   * An object that cannot be removed waits for its next attempt, and keeps no other object waiting.
   * @returns how many of them an upload had abandoned.
   */
  private async removeDue(): Promise<number> {
    const deadline = Date.now() + ROUND_MS;
    let due: DueRemoval[];
    let abandoned = 0;
    do {
      due = await beginDueRemovals(this.database, BATCH);
      abandoned += due.filter(({ isAbandoned }) => isAbandoned).length;
      const outcomes = await Promise.allSettled(due.map(({ objectKey }) => this.removeBegun(objectKey)));
      const failed = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
      if (failed.length > 0) this.logger.warn({ err: failed[0], objects: failed.length }, 'object removal postponed');
    } while (due.length === BATCH && Date.now() < deadline);
    return abandoned;
  }

  private async remove(key: string): Promise<void> {
    if (await beginRemoval(this.database, key)) await this.removeBegun(key);
  }

  /** Holds no connection while it waits for the store. From the begin on no upload can claim the object. */
  private async removeBegun(key: string): Promise<void> {
    await this.store.remove(key);
    await this.removals.delete({ objectKey: key });
  }
}

/** Longer than any store takes for one upload. */
const RESERVED_SECONDS = 3600;

/** An object that is about to be written, and what it counts for until it is claimed or given up. */
export type ObjectReservation = {
  [Column in 'objectKey' | 'accountId' | 'bytes' | 'durationMs']: NonNullable<ObjectRemoval[Column]>;
};

/** Puts objects on the list, to be removed unless they are claimed. SQL, because many rows go in by one statement. */
export async function insertReservations(runner: SqlRunner, reserved: readonly ObjectReservation[]): Promise<void> {
  const column = <Name extends keyof ObjectReservation>(name: Name) => reserved.map((reservation) => reservation[name]);
  await runner.prepared(
    `INSERT INTO object_removals (object_key, account_id, bytes, duration_ms, remove_after)
     SELECT *, now() + make_interval(secs => $5) FROM unnest($1::text[], $2::uuid[], $3::bigint[], $4::bigint[])`,
    [column('objectKey'), column('accountId'), column('bytes'), column('durationMs'), RESERVED_SECONDS],
  );
}

/** Changes what a reserved object counts for, and reserves it anew when it is not on the list any more. SQL as above. */
export async function changeReservation(
  runner: SqlRunner,
  { objectKey, accountId, bytes, durationMs }: ObjectReservation,
): Promise<void> {
  await runner.prepared(
    `INSERT INTO object_removals AS r (object_key, account_id, bytes, duration_ms, remove_after)
     VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5))
     ON CONFLICT ON CONSTRAINT object_removals_pkey DO UPDATE SET account_id = excluded.account_id, attempts = 0,
       bytes = excluded.bytes, duration_ms = excluded.duration_ms, remove_after = excluded.remove_after`,
    [objectKey, accountId, bytes, durationMs, RESERVED_SECONDS],
  );
}

/** Counts a reserved object for nobody any more. @param mayArriveLate as for `cancel`. SQL, because of the clock. */
export async function giveUpReservation(
  runner: SqlRunner,
  objectKey: string,
  { mayArriveLate }: { mayArriveLate: boolean },
): Promise<void> {
  await runner.query(
    `UPDATE object_removals SET account_id = NULL, bytes = NULL, duration_ms = NULL,
       remove_after = CASE WHEN $2 THEN remove_after ELSE now() END
     WHERE object_key = $1 AND account_id IS NOT NULL`,
    [objectKey, mayArriveLate],
  );
}

/**
 * The reservations of an account, as a sub-select; their keys are neither claimed nor given up.
 * @param account a placeholder or column of the statement
 */
export const reservationsOf = (account: string): string => `(
  SELECT bytes, duration_ms FROM object_removals
  WHERE account_id = ${account} AND attempts = 0 AND remove_after > now())`;

/**
 * Takes a reserved object off the list, as a part of the statement that inserts the row it belongs to. It returns no row
 * when the reservation has expired and the object may be gone.
 * @param key a placeholder of the statement, such as `$1`
 */
export const claimReservedObject = (key: string): string =>
  `DELETE FROM object_removals WHERE object_key = ${key} AND attempts = 0 RETURNING object_key`;

/** Arbitrary. Held exclusively by a backup, and shared by each replacement of an object, which a backup may still read. */
export const OBJECTS_LOCK = 7_305_122;

/** Until the transaction ends, no backup begins. SQL, because TypeORM has no advisory locks. @returns false during a backup */
export async function lockObjects(runner: SqlRunner): Promise<boolean> {
  const [row] = await runner.query<{ held: boolean }>(
    `SELECT pg_try_advisory_xact_lock_shared(${OBJECTS_LOCK}) AS held`,
  );
  return row?.held ?? false;
}

/**
 * Puts on the list, counted for nobody, a copy that is about to be written, to be removed unless it is claimed; or what it has
 * replaced, to be removed once nobody reads it any more. SQL, because of the clock.
 * @param options isReplaced: as one whose removal was begun, which is taken for no reservation
 */
export async function removeInAnHour(
  runner: SqlRunner,
  objectKey: string,
  { isReplaced }: { isReplaced: boolean },
): Promise<void> {
  await runner.query(
    `INSERT INTO object_removals (object_key, remove_after, attempts)
     VALUES ($1, now() + make_interval(secs => $2), $3::boolean::integer)`,
    [objectKey, RESERVED_SECONDS, isReplaced],
  );
}

/** Removes one that was not taken. SQL as above. */
export async function giveUpReplacement(runner: SqlRunner, objectKey: string): Promise<void> {
  await runner.query('UPDATE object_removals SET remove_after = now() WHERE object_key = $1', [objectKey]);
}

/** Before an attempt its successor gets its time: after 2 s, 4 s, 8 s and on, up to about an hour. */
const BEGIN_ATTEMPT = `attempts = attempts + 1,
  remove_after = now() + make_interval(secs => least(3600, 2 ^ least(attempts + 1, 12)))`;

/**
 * Begins the removal of an object that is due, in a statement of its own, so that no connection waits for the store.
 * SQL, because the clock of the database decides.
 * @returns false when it is not due, or another process has begun.
 */
export async function beginRemoval(runner: SqlRunner, key: string): Promise<boolean> {
  const rows = await runner.query(
    `UPDATE object_removals SET ${BEGIN_ATTEMPT} WHERE object_key = $1 AND remove_after <= now() RETURNING 1`,
    [key],
  );
  return rows.length > 0;
}

/** An object whose removal was begun. */
export interface DueRemoval {
  objectKey: string;
  /** Whether its reservation had expired, and this is the first attempt: the process of the upload died. */
  isAbandoned: boolean;
}

/** As `beginRemoval`, for the objects that have been due for longest. SQL for the same reason. */
export async function beginDueRemovals(runner: SqlRunner, limit: number): Promise<DueRemoval[]> {
  return await runner.query<DueRemoval>(
    `UPDATE object_removals SET ${BEGIN_ATTEMPT}
     WHERE object_key = ANY (ARRAY(
       SELECT object_key FROM object_removals WHERE remove_after <= now()
       ORDER BY remove_after LIMIT $1 FOR UPDATE SKIP LOCKED))
     RETURNING object_key AS "objectKey", attempts = 1 AND account_id IS NOT NULL AS "isAbandoned"`,
    [limit],
  );
}
