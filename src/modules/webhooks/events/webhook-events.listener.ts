import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Tx } from '../../../platform/database/database.service.js';
import { EventBus } from '../../../platform/events/event-bus.js';
import { RecordingFailed, type RecordingSnapshot, RecordingTranscribed } from '../../recordings/recordings.events.js';
import { failedPayload, transcribedPayload } from './event-payload.js';
import { WebhookEventsService } from './webhook-events.service.js';

/** Publishes the events of recordings, in the transaction of the change. */
@Injectable()
export class WebhookEventsListener implements OnModuleInit {
  constructor(
    private readonly bus: EventBus,
    private readonly events: WebhookEventsService,
  ) {}

  onModuleInit(): void {
    const core = { mustSucceed: true };
    this.bus.on(
      RecordingTranscribed,
      ({ recording }, tx) => this.publish(tx, recording, 'recording.transcribed', transcribedBody(recording)),
      core,
    );
    this.bus.on(
      RecordingFailed,
      ({ recording, reason }, tx) => this.publish(tx, recording, 'recording.failed', failedBody(recording, reason)),
      core,
    );
  }

  private async publish(tx: Tx, recording: RecordingSnapshot, kind: string, body: string): Promise<void> {
    const { accountId, id: recordingId, run } = recording;
    await this.events.publish(tx, { accountId, kind, body, recordingId, run });
  }
}

const factsOf = (recording: RecordingSnapshot, occurredAt: Date) => ({
  occurredAt,
  recordingId: recording.id,
  identity: recording.userId,
  createdAt: recording.createdAt,
  customTags: recording.customTags,
});

function transcribedBody(recording: RecordingSnapshot): string {
  const completedAt = recording.processedAt ?? new Date();
  return transcribedPayload({
    ...factsOf(recording, completedAt),
    durationSeconds: recording.durationMs / 1000,
    format: recording.audioFormat,
    completedAt,
  });
}

function failedBody(recording: RecordingSnapshot, reason: string): string {
  return failedPayload({ ...factsOf(recording, recording.processedAt ?? new Date()), reason });
}
