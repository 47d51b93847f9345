import { Injectable, type OnModuleInit } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { ReconcilerService } from '../../platform/reconciler/reconciler.service.js';
import { RecordingErasureService } from '../recordings/erasure/recording-erasure.service.js';
import { WebhookEventsService } from '../webhooks/events/webhook-events.service.js';
import { UserErasure } from './user-erasure.entity.js';

/** What an erasure has done so far. */
export interface ErasureResult {
  deletedRecordings: number;
  redactedEvents: number;
  /** False when the reconciler does the rest. */
  complete: boolean;
}

/** A request is answered after this time, and a round of the reconciler ends. */
const WORK_MS = 5000;
/** Events that one transaction changes. */
const EVENTS = 200;
/** Erasures that one round of the reconciler works on. */
const MAX_ERASURES = 10;

type User = Pick<UserErasure, 'accountId' | 'userId'>;

/** Erases end users, in batches that are each complete: one that was interrupted is continued (D46). */
@Injectable()
export class UsersService implements OnModuleInit {
  constructor(
    @InjectRepository(UserErasure) private readonly erasures: Repository<UserErasure>,
    private readonly recordings: RecordingErasureService,
    private readonly events: WebhookEventsService,
    private readonly reconciler: ReconcilerService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('erase users', () => this.continueErasures());
  }

  async erase(accountId: string, userId: string): Promise<ErasureResult> {
    const user = { accountId, userId };
    await this.erasures.upsert({ ...user, requestedAt: () => 'now()' }, ['accountId', 'userId']);
    return await this.work(user);
  }

  private async continueErasures(): Promise<void> {
    for (const user of await this.erasures.find({ order: { requestedAt: 'ASC' }, take: MAX_ERASURES })) {
      await this.work(user);
    }
  }

  private async work({ accountId, userId }: User): Promise<ErasureResult> {
    const deadline = Date.now() + WORK_MS;
    const result = { deletedRecordings: 0, redactedEvents: 0, complete: false };
    // The recordings first, because a transcription that is under way adds an event of the user when it ends.
    for (let left = true; left;) {
      if (Date.now() > deadline) return result;
      const deleted = await this.recordings.deleteSome(accountId, userId);
      result.deletedRecordings += deleted;
      left = deleted > 0 || (await this.recordings.hasRecordings(accountId, userId));
    }
    await this.recordings.forgetIdempotencyKeys(accountId, userId);
    await this.recordings.forgetUsage(accountId, userId);
    for (let redacted = EVENTS; redacted === EVENTS;) {
      if (Date.now() > deadline) return result;
      redacted = await this.events.redactUser(accountId, userId, EVENTS);
      result.redactedEvents += redacted;
    }
    await this.erasures.delete({ accountId, userId });
    return { ...result, complete: true };
  }
}
