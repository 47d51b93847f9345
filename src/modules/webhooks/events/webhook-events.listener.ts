import { Injectable, type OnModuleInit } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import type { Tx } from '../../../platform/database/database.service.js';
import { EventBus } from '../../../platform/events/event-bus.js';
import { RecordingFailed, type RecordingSnapshot, RecordingTranscribed } from '../../recordings/recordings.events.js';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { WebhookEvent, type EventKind } from './webhook-event.entity.js';
import { failedPayload, transcribedPayload } from './event-payload.js';

/** Turns what happened to a recording into an event and its deliveries, in the transaction in which it happened. */
@Injectable()
export class WebhooksListener implements OnModuleInit {
  constructor(
    private readonly bus: EventBus,
    private readonly deliveries: DeliveriesService,
  ) {}

  onModuleInit(): void {
    const core = { mustSucceed: true };
    this.bus.on(
      RecordingTranscribed,
      ({ recording }, tx) => this.record(tx, recording, 'recording.transcribed', transcribedBody(recording)),
      core,
    );
    this.bus.on(
      RecordingFailed,
      ({ recording, reason }, tx) => this.record(tx, recording, 'recording.failed', failedBody(recording, reason)),
      core,
    );
  }

  private async record(tx: Tx, recording: RecordingSnapshot, kind: EventKind, body: string): Promise<void> {
    const { accountId, id: recordingId, run } = recording;
    const sequence = await nextSequence(tx, accountId);
    const event = { id: uuidv7(), accountId, sequence, kind, recordingId, run, body, createdAt: new Date() };
    await tx.manager.insert(WebhookEvent, event);
    await this.deliveries.fanOut(tx, event);
  }
}

/** Drawn under a lock that lasts until the commit: whoever reads the events in order never misses a late one. */
async function nextSequence(tx: Tx, accountId: string): Promise<string> {
  const [row] = await tx.query<{ last: string }>(
    `INSERT INTO event_sequences AS s (account_id, last) VALUES ($1, 1)
     ON CONFLICT ON CONSTRAINT event_sequences_pkey DO UPDATE SET last = s.last + 1 RETURNING last`,
    [accountId],
  );
  if (!row) throw new Error('no event sequence');
  return row.last;
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
