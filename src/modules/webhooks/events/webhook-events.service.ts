import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { repeatWhileFull } from '../../../platform/queue/repeat-while-full.js';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { EVENT_KINDS } from './event-kinds.js';
import { WebhookEvent } from './webhook-event.entity.js';
import { deleteEventsOlderThan, nextEventSequence } from './webhook-events.queries.js';

/** Events deleted by one statement, with up to 50 deliveries each. */
const BATCH = 200;

export interface NewWebhookEvent {
  accountId: string;
  /** A registered kind. */
  kind: string;
  /** The JSON text that is sent and signed, byte for byte. */
  body: string;
  /** Of the two recording kinds there is one event for each run of a recording. */
  recordingId?: string;
  run?: number;
}

/** Publishes events to the webhooks that subscribe to them. Extensions publish their own kinds. */
@Injectable()
export class WebhookEventsService {
  constructor(
    private readonly deliveries: DeliveriesService,
    private readonly database: DatabaseService,
    private readonly env: Env,
  ) {}

  /** Stores the event and its deliveries in `tx`. They are sent after the commit. @throws Error for an unknown kind */
  async publish(tx: Tx, { accountId, kind, body, recordingId, run }: NewWebhookEvent): Promise<void> {
    if (!EVENT_KINDS.includes(kind)) throw new Error(`event kind ${kind} is not registered`);
    const event = {
      id: uuidv7(),
      accountId,
      sequence: await nextEventSequence(tx, accountId),
      kind,
      recordingId: recordingId ?? null,
      run: run ?? null,
      body,
      createdAt: new Date(),
    };
    await tx.manager.insert(WebhookEvent, event);
    await this.deliveries.fanOut(tx, event);
  }

  /** Deletes events past EVENT_RETENTION_DAYS, with their deliveries. */
  async deleteOld(): Promise<void> {
    const { database, env } = this;
    await repeatWhileFull(BATCH, () => deleteEventsOlderThan(database, env.eventRetentionDays, BATCH));
  }
}
