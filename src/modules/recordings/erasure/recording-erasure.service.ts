import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { EventBus } from '../../../platform/events/event-bus.js';
import { repeatWhileFull } from '../../../platform/concurrency/repeat-while-full.js';
import { Recording } from '../recording.entity.js';
import { RecordingDeleted } from '../recordings.events.js';
import { forgetUserUsage } from '../usage-counters/usage-breakdown.queries.js';
import { deleteIdempotencyKeysOf, deleteRecordingsOfUser } from './recording-erasure.queries.js';

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
  async deleteSome(accountId: string, userId: string): Promise<number> {
    return await this.database.transact(async (tx) => {
      const gone = await deleteRecordingsOfUser(tx, accountId, userId, BATCH);
      for (const recording of gone) {
        await this.bus.emit(new RecordingDeleted({ ...recording, userId: null, customTags: null }), tx);
      }
      return gone.length;
    });
  }

  /** Whether recordings are left. Another process may delete them at the same time. */
  async hasRecordings(accountId: string, userId: string): Promise<boolean> {
    return await this.recordings.existsBy({ accountId, userId });
  }

  async forgetIdempotencyKeys(accountId: string, userId: string): Promise<void> {
    await repeatWhileFull(KEYS, () => deleteIdempotencyKeysOf(this.database, accountId, userId, KEYS));
  }

  /** What the user has used stays a part of the account's usage, and counts for no end user. */
  async forgetUsage(accountId: string, userId: string): Promise<void> {
    await this.database.transact((tx) => forgetUserUsage(tx, accountId, userId));
  }
}
