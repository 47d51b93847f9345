import { v7 as uuidv7 } from 'uuid';
import { RecordingFailed, type RecordingSnapshot } from '../../../src/modules/recordings/recordings.events.js';
import { EventBus } from '../../../src/platform/database/event-bus.js';
import { DatabaseService } from '../../../src/platform/database/database.service.js';
import type { TestService } from '../../../src/testing/test-service.js';

/**
 * Makes so many events as failed recordings do, each in its own transaction, without recordings that would have to be
 * uploaded and tried first. Returns the ids of the recordings that each is about.
 */
export async function failRecordings(service: TestService, accountId: string, times: number): Promise<string[]> {
  const ids = Array.from({ length: times }, () => uuidv7());
  for (const id of ids) await failRecording(service, snapshotOf(accountId, id));
  return ids;
}

/** An event whose delivery to the webhook has failed. For a service with ROLES=api. @returns the delivery's id. */
export async function failDelivery(service: TestService, accountId: string, webhookId: string): Promise<string> {
  await failRecordings(service, accountId, 1);
  const [delivery] = await service.database.query<{ id: string }>(
    `UPDATE deliveries SET status = 'failed', next_attempt_at = NULL
     WHERE webhook_id = $1 AND status = 'pending' RETURNING id`,
    [webhookId],
  );
  if (!delivery) throw new Error('the webhook has no delivery');
  return delivery.id;
}

/** Says on the bus that a recording failed, in a transaction of its own. */
async function failRecording(service: TestService, recording: RecordingSnapshot): Promise<void> {
  const bus = service.app.get(EventBus);
  await service.app.get(DatabaseService).transact((tx) => bus.emit(new RecordingFailed(recording, 'a test'), tx));
}

export function snapshotOf(accountId: string, id: string = uuidv7()): RecordingSnapshot {
  const now = new Date();
  return {
    id,
    accountId,
    userId: null,
    originalFilename: 'note.wav',
    audioFormat: 'wav',
    durationMs: 1000,
    customTags: null,
    status: 'failed',
    run: 1,
    createdAt: now,
    processedAt: now,
  };
}
