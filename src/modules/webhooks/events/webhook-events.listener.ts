import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Tx } from '../../../platform/database/database.service.js';
import { EventBus, type JoinedWrite } from '../../../platform/database/event-bus.js';
import {
  RecordingAccepted,
  RecordingDeleted,
  RecordingFailed,
  type RecordingSnapshot,
  RecordingTranscribed,
  TranscriptionCorrected,
} from '../../recordings/recordings.events.js';
import {
  acceptedPayload,
  correctedPayload,
  deletedPayload,
  failedPayload,
  type TranscribedFacts,
  transcribedPayload,
} from './event-payload.js';
import { eventParameters, insertEventFor, type NewFeedEvent, WebhookEventsService } from './webhook-events.service.js';

/** Publishes the events of recordings, in the transaction of the change. */
@Injectable()
export class WebhookEventsListener implements OnModuleInit {
  constructor(
    private readonly bus: EventBus,
    private readonly events: WebhookEventsService,
  ) {}

  onModuleInit(): void {
    const core = { mustSucceed: true };
    this.bus.join(RecordingAccepted, ({ recording }, tx) => this.joinAccepted(tx, recording));
    this.bus.on(RecordingAccepted, ({ recording }, tx) => this.recordRetry(tx, recording), core);
    this.bus.on(RecordingTranscribed, (event, tx) => this.publishTranscribed(tx, event), core);
    this.bus.on(RecordingFailed, (event, tx) => this.publishFailed(tx, event), core);
    this.bus.on(
      TranscriptionCorrected,
      (event, tx) => this.publish(tx, event.recording, 'transcription.corrected', correctedBody(event)),
      core,
    );
    this.bus.on(RecordingDeleted, ({ recording }, tx) => this.events.record(tx, deletedEvent(recording)), core);
  }

  private async publishTranscribed(tx: Tx, { recording, rerun }: RecordingTranscribed): Promise<void> {
    if (rerun === 'quiet') return;
    await this.publish(tx, recording, 'recording.transcribed', transcribedBody(recording));
  }

  /** The operator's attempt to improve a text changes nothing for the account when it fails. */
  private async publishFailed(tx: Tx, { recording, reason, rerun }: RecordingFailed): Promise<void> {
    if (rerun !== null && rerun !== 'requested') return;
    await this.publish(tx, recording, 'recording.failed', failedBody(recording, reason));
  }

  private async publish(tx: Tx, recording: RecordingSnapshot, kind: string, body: string): Promise<void> {
    const { accountId, id: recordingId, run } = recording;
    await this.events.publish(tx, { accountId, kind, body, recordingId, run });
  }

  /** An upload inserts its event with the recording. */
  private joinAccepted(tx: Tx, recording: RecordingSnapshot): JoinedWrite {
    const event = this.events.prepare(tx, acceptedEvent(recording, recording.createdAt));
    return { sql: (first) => insertEventFor('accepted', first), parameters: eventParameters(event) };
  }

  private async recordRetry(tx: Tx, recording: RecordingSnapshot): Promise<void> {
    if (recording.run > 1) await this.events.record(tx, acceptedEvent(recording, new Date()));
  }
}

const factsOf = (recording: RecordingSnapshot, occurredAt: Date) => ({
  occurredAt,
  recordingId: recording.id,
  identity: recording.userId,
  createdAt: recording.createdAt,
  customTags: recording.customTags,
});

function acceptedEvent(recording: RecordingSnapshot, occurredAt: Date): NewFeedEvent {
  const { accountId, id: recordingId, run, durationMs, audioFormat: format } = recording;
  const body = acceptedPayload({ ...factsOf(recording, occurredAt), durationSeconds: durationMs / 1000, format });
  return { accountId, kind: 'recording.accepted', body, recordingId, run };
}

function deletedEvent(recording: RecordingSnapshot): NewFeedEvent {
  const { accountId, id: recordingId, run } = recording;
  const body = deletedPayload(factsOf(recording, new Date()));
  return { accountId, kind: 'recording.deleted', body, recordingId, run };
}

function transcribedFacts(recording: RecordingSnapshot, occurredAt?: Date): TranscribedFacts {
  const completedAt = recording.processedAt ?? new Date();
  return {
    ...factsOf(recording, occurredAt ?? completedAt),
    durationSeconds: recording.durationMs / 1000,
    format: recording.audioFormat,
    completedAt,
  };
}

function transcribedBody(recording: RecordingSnapshot): string {
  return transcribedPayload(transcribedFacts(recording));
}

function correctedBody({ recording, version, correctedAt }: TranscriptionCorrected): string {
  return correctedPayload({ ...transcribedFacts(recording, correctedAt), version });
}

function failedBody(recording: RecordingSnapshot, reason: string): string {
  return failedPayload({ ...factsOf(recording, recording.processedAt ?? new Date()), reason });
}
