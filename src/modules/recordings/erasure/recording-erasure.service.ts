import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { EventBus } from '../../../platform/database/event-bus.js';
import { repeatWhileFull } from '../../../platform/concurrency/repeat-while-full.js';
import { Recording } from '../recording.entity.js';
import { RecordingDeleted } from '../recordings.events.js';
import { forgetUserUsage } from '../usage-counters/usage-breakdown.queries.js';
import {
  deleteIdempotencyKeysOf,
  deleteRecordingsOfUser,
  type ErasedUser,
  hasRecordingsOfUser,
} from './recording-erasure.queries.js';

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

  /** Deletes some recordings, as one by one (D24), but their events do not name the user. @returns how many. */
  async deleteSome(user: ErasedUser): Promise<number> {
    return await this.database.transact(async (tx) => {
      const gone = await deleteRecordingsOfUser(tx, user, BATCH);
      for (const recording of gone) {
        await this.bus.emit(new RecordingDeleted({ ...recording, userId: null, customTags: null }), tx);
      }
      return gone.length;
    });
  }

  async hasRecordings(user: ErasedUser): Promise<boolean> {
    return await hasRecordingsOfUser(this.database, user);
  }

  /** Whether the user has uploaded anything since. */
  async hasNewRecordings(accountId: string, userId: string): Promise<boolean> {
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
