import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Tx } from '../../../platform/database/database.service.js';
import { EventBus, type JoinedWrite } from '../../../platform/database/event-bus.js';
import {
  RecordingAccepted,
  RecordingDeleted,
  RecordingFailed,
  RecordingPartlyTranscribed,
  type RecordingSnapshot,
  RecordingsExpired,
  RecordingTranscribed,
  TranscriptionCorrected,
} from '../../recordings/recordings.events.js';
import {
  acceptedPayload,
  correctedPayload,
  deletedPayload,
  failedPayload,
  partialPayload,
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
    this.bus.on(RecordingPartlyTranscribed, (event, tx) => this.publishPart(tx, event), core);
    this.bus.on(RecordingTranscribed, (event, tx) => this.publishTranscribed(tx, event), core);
    this.bus.on(RecordingFailed, (event, tx) => this.publishFailed(tx, event), core);
    this.bus.on(TranscriptionCorrected, (event, tx) => this.publishCorrected(tx, event), core);
    this.bus.on(RecordingsExpired, ({ recordings }, tx) => this.events.redactRecordings(tx, recordings), core);
    this.bus.on(RecordingDeleted, ({ recording }, tx) => this.recordDeleted(tx, recording), core);
  }

  private async publishPart(tx: Tx, { recording, part }: RecordingPartlyTranscribed): Promise<void> {
    const body = partialPayload(recording, part, new Date());
    await this.events.publish(tx, { ...about(recording), kind: 'recording.partial', body });
  }

  private async publishTranscribed(tx: Tx, { recording, rerun }: RecordingTranscribed): Promise<void> {
    if (rerun === 'quiet') return;
    const body = transcribedPayload(recording);
    await this.events.publish(tx, { ...about(recording), kind: 'recording.transcribed', body });
  }

  /** The operator's attempt to improve a text changes nothing for the account when it fails. */
  private async publishFailed(tx: Tx, { recording, reason, rerun }: RecordingFailed): Promise<void> {
    if (rerun !== null && rerun !== 'requested') return;
    const body = failedPayload(recording, reason);
    await this.events.publish(tx, { ...about(recording), kind: 'recording.failed', body });
  }

  private async publishCorrected(tx: Tx, { recording, version, correctedAt }: TranscriptionCorrected): Promise<void> {
    const body = correctedPayload(recording, version, correctedAt);
    await this.events.publish(tx, { ...about(recording), kind: 'transcription.corrected', body });
  }

  /** An upload inserts its event with the recording. */
  private joinAccepted(tx: Tx, recording: RecordingSnapshot): JoinedWrite {
    const event = this.events.prepare(tx, acceptedEvent(recording, recording.createdAt));
    return { sql: (first) => insertEventFor('accepted', first), parameters: eventParameters(event) };
  }

  private async recordRetry(tx: Tx, recording: RecordingSnapshot): Promise<void> {
    if (recording.run > 1) await this.events.record(tx, acceptedEvent(recording, new Date()));
  }

  private async recordDeleted(tx: Tx, recording: RecordingSnapshot): Promise<void> {
    const body = deletedPayload(recording, new Date());
    await this.events.record(tx, { ...about(recording), kind: 'recording.deleted', body });
    await this.events.removeText(tx, recording.accountId, recording.id);
  }
}

const about = ({ accountId, id: recordingId, run }: RecordingSnapshot) => ({ accountId, recordingId, run });

function acceptedEvent(recording: RecordingSnapshot, occurredAt: Date): NewFeedEvent {
  return { ...about(recording), kind: 'recording.accepted', body: acceptedPayload(recording, occurredAt) };
}
