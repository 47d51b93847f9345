import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { recordChanges } from '../../access/audit-trail.js';
import { repeatWhileFull } from '../../platform/queue/reconciler.service.js';
import { DatabaseService, type SqlRunner, type Tx } from '../../platform/database/database.service.js';
import { EventBus } from '../../platform/database/event-bus.js';
import { Recording, recordingChange } from './recording.entity.js';
import { RecordingDeleted } from './recordings.events.js';
import { deletionSql } from './recordings.queries.js';
import { forgetUserUsage } from './usage-counters/usage-breakdown.queries.js';

/** An end user, and the time up to which they are erased: as Postgres writes it, because a Date has no microseconds. */
export interface ErasedUser {
  accountId: string;
  userId: string;
  until: string;
}

/** Recordings that one transaction deletes, each with an event. */
const BATCH = 50;
const KEYS = 1000;

/** Deletes what an end user has uploaded (D46). */
@Injectable()
export class RecordingErasureService {
  constructor(
    @InjectRepository(Recording) private readonly recordings: Repository<Recording>,
    private readonly database: DatabaseService,
    private readonly bus: EventBus,
  ) {}

  /**
   * Deletes some recordings, as one by one (D24), but their events do not name the user. @returns how many.
   * @param hasHeld whether others of the user are on hold
   */
  async deleteSome(user: ErasedUser, hasHeld: boolean): Promise<number> {
    return await this.database.transact(async (tx) => {
      const gone = await deleteRecordingsOfUser(tx, user, BATCH, hasHeld);
      for (const recording of gone) {
        await this.bus.emit(new RecordingDeleted({ ...recording, userId: null, customTags: null }), tx);
      }
      await recordChanges(tx, ...gone.map((recording) => recordingChange(recording, 'recording.deleted')));
      return gone.length;
    });
  }

  /** Whether recordings of that time are left that are not on hold. Another process may delete them at the same time. SQL, because of the time. */
  async hasRecordings({ accountId, userId, until }: ErasedUser): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT 1 FROM recordings
       WHERE account_id = $1 AND user_id = $2 AND created_at <= $3::timestamptz AND held_at IS NULL LIMIT 1`,
      [accountId, userId, until],
    );
    return rows.length > 0;
  }

  /** Recordings of that time that are on hold: they are kept until their release (D79). SQL, because of the time. */
  async countHeld({ accountId, userId, until }: ErasedUser): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM recordings
       WHERE account_id = $1 AND user_id = $2 AND created_at <= $3::timestamptz AND held_at IS NOT NULL`,
      [accountId, userId, until],
    );
    return row?.count ?? 0;
  }

  /** Whether the user has uploaded anything since, or something is on hold. */
  async hasOtherRecordings(accountId: string, userId: string): Promise<boolean> {
    return await this.recordings.existsBy({ accountId, userId });
  }

  async forgetIdempotencyKeys(user: ErasedUser): Promise<void> {
    await repeatWhileFull(KEYS, () => deleteIdempotencyKeysOf(this.database, user, KEYS));
  }

  /** What the user has used stays a part of the account's usage, and counts for no end user. */
  async forgetUsage(tx: Tx, accountId: string, userId: string): Promise<void> {
    await forgetUserUsage(tx, accountId, userId);
  }
}

const OF_USER = `
  SELECT id FROM recordings WHERE account_id = $1 AND user_id = $2 AND created_at <= $3::timestamptz AND held_at IS NULL
  ORDER BY created_at DESC, id DESC LIMIT $4 FOR UPDATE`;
/** The usage of the user was moved to nobody before, so that what is deleted is taken from there. */
const DELETE = deletionSql(OF_USER, 'NULL::text');
/** While the user has recordings on hold, the usage stays theirs. */
const DELETE_BESIDE_HELD = deletionSql(OF_USER, 'user_id');

/** Deletes up to `count` recordings of an end user that are not on hold. */
export async function deleteRecordingsOfUser(
  tx: Tx,
  { accountId, userId, until }: ErasedUser,
  count: number,
  hasHeld: boolean,
): Promise<Recording[]> {
  return await tx.prepared<Recording>(hasHeld ? DELETE_BESIDE_HELD : DELETE, [accountId, userId, until, count]);
}

/** SQL, because TypeORM's DELETE has no LIMIT. @returns how many, at most `count`. */
async function deleteIdempotencyKeysOf(
  runner: SqlRunner,
  { accountId, userId, until }: ErasedUser,
  count: number,
): Promise<number> {
  const rows = await runner.query(
    `DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM idempotency_keys WHERE account_id = $1 AND identity = $2 AND created_at <= $3::timestamptz
       LIMIT $4)) RETURNING 1`,
    [accountId, userId, until, count],
  );
  return rows.length;
}
