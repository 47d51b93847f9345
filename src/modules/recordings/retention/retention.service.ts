import { Injectable, type OnModuleInit } from '@nestjs/common';
import { NIL } from 'uuid';
import { recordChanges } from '../../../access/audit-trail.js';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { EventBus } from '../../../platform/database/event-bus.js';
import { findOrFail } from '../../../platform/database/find-or-fail.js';
import { resourceTime } from '../../../platform/http/timestamps.js';
import { ReconcilerService, repeatWhileFull } from '../../../platform/queue/reconciler.service.js';
import { RecordingInclusionsService } from '../recording-inclusions.service.js';
import { type Recording, recordingChange } from '../recording.entity.js';
import { RecordingDeleted, RecordingsExpired } from '../recordings.events.js';
import { deleteRecordings } from '../recordings.queries.js';
import {
  deleteAudio,
  type DeletionPosition,
  type Hold,
  holdRecording,
  lockDue,
  releaseHold,
  selectUpcoming,
  type UpcomingDeletion,
} from './retention.queries.js';

// For other modules, which import no other file of retention.
export { MAX_RETAIN_DAYS, refuseAudioBeyondText, type RetentionPolicy } from './retention-policy.js';
export type { DeletionPosition, UpcomingDeletion } from './retention.queries.js';

/** Recordings that one transaction changes. */
const BATCH = 100;

/** Before the first deletion of all. */
const FIRST: DeletionPosition = { dueMicros: '0', id: NIL };

/** Deletes what has been kept for as long as it is to be (D78), unless it is on hold (D79). */
@Injectable()
export class RetentionService implements OnModuleInit {
  constructor(
    private readonly database: DatabaseService,
    private readonly bus: EventBus,
    private readonly reconciler: ReconcilerService,
    private readonly inclusions: RecordingInclusionsService,
  ) {}

  onModuleInit(): void {
    this.inclusions.register('retention', (recording) => Promise.resolve(presentRetention(recording)));
    this.reconciler.register('delete what is due', () => this.deleteDue());
  }

  /** @throws NotFoundError */
  async hold(accountId: string, id: string, reason: string): Promise<Hold> {
    return await this.database.transact(async (tx) => {
      const hold = await findOrFail('recording', id, () => holdRecording(tx, { accountId, id }, reason));
      await recordChanges(tx, recordingChange({ accountId, id }, 'recording.held'));
      return hold;
    });
  }

  /** Also for one that is not on hold. @throws NotFoundError */
  async release(accountId: string, id: string): Promise<void> {
    await this.database.transact(async (tx) => {
      await findOrFail('recording', id, () => releaseHold(tx, { accountId, id }));
      await recordChanges(tx, recordingChange({ accountId, id }, 'recording.released'));
    });
  }

  /** What goes next of the recordings of an account, in the order of the times. @param after null: from the first on */
  async upcoming(accountId: string, after: DeletionPosition | null, count: number): Promise<UpcomingDeletion[]> {
    return await selectUpcoming(this.database, accountId, after ?? FIRST, count);
  }

  /** In batches that are each complete, so that a process that dies leaves nothing half done. */
  private async deleteDue(): Promise<void> {
    await repeatWhileFull(BATCH, () => this.deleteSome());
  }

  /** @returns of how many recordings something was deleted. */
  private async deleteSome(): Promise<number> {
    return await this.database.transact(async (tx) => {
      const due = await lockDue(tx, BATCH);
      const idsOf = (isAll: boolean) => due.filter((one) => one.isAll === isAll).map(({ id }) => id);
      const [whole, audioOnly] = [idsOf(true), idsOf(false)];
      if (audioOnly.length > 0) await deleteAudio(tx, audioOnly);
      if (whole.length > 0) {
        const gone = await deleteRecordings(tx, whole);
        // First, because the events of the deletions name nobody.
        await this.bus.emit(new RecordingsExpired(gone), tx);
        for (const recording of gone) {
          await this.bus.emit(new RecordingDeleted({ ...recording, userId: null, customTags: null }), tx);
        }
        await recordChanges(tx, ...gone.map((recording) => recordingChange(recording, 'recording.deleted')));
      }
      return due.length;
    });
  }
}

/** `include=retention` of a recording. */
function presentRetention(recording: Recording): object {
  const { audioDueAt, textDueAt, deleteAudioAfter, audioDeletedAt, heldAt, holdReason: reason } = recording;
  const timeOf = (time: Date | null): string | null => time && resourceTime(time);
  return {
    audio_expires_at: audioDeletedAt ? null : timeOf(audioDueAt),
    audio_deleted_at: timeOf(audioDeletedAt),
    text_expires_at: timeOf(textDueAt),
    delete_audio_after: deleteAudioAfter,
    hold: heldAt && { reason, held_at: resourceTime(heldAt) },
  };
}
