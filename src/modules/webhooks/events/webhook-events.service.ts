import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { EventSignalsService } from '../feed/event-signals.service.js';
import { EVENT_KINDS, type FeedKind } from './event-kinds.js';
import { endUserOf, withoutPersonalData } from './personal-data.js';
import {
  deleteOldEvents,
  FIRST_PLACE,
  insertEvent,
  type InsertedEvent,
  lockEventsOfUser,
  replaceBodies,
  selectEventsOfUser,
} from './webhook-events.queries.js';

/** Events that one statement looks at and deletes, with up to 50 deliveries each. */
const BATCH = 200;
/** So that one round of the reconciler does not keep its other tasks waiting. */
const MAX_ROUNDS = 50;
/** Events that one round looks at and keeps. */
const MAX_KEPT = 2000;

export interface NewWebhookEvent {
  accountId: string;
  /** A registered kind. */
  kind: string;
  /** The JSON text that is sent and signed, byte for byte. */
  body: string;
  /** Of `recording.transcribed` and `recording.failed` there is one event for each run of a recording. */
  recordingId?: string;
  run?: number;
}

/** An event that webhooks do not get. */
export interface NewFeedEvent extends NewWebhookEvent {
  kind: FeedKind;
}

/** Publishes events in the feed and to the webhooks that subscribe to them. Extensions publish their own kinds. */
@Injectable()
export class WebhookEventsService {
  /** How far `deleteOld` has come. */
  private scannedTo = FIRST_PLACE;

  constructor(
    private readonly deliveries: DeliveriesService,
    private readonly signals: EventSignalsService,
    private readonly database: DatabaseService,
    private readonly env: Env,
  ) {}

  /** Stores the event and its deliveries in `tx`. They are sent after the commit. @throws Error for an unknown kind */
  async publish(tx: Tx, newEvent: NewWebhookEvent): Promise<void> {
    const { kind } = newEvent;
    if (!EVENT_KINDS.includes(kind)) throw new Error(`event kind ${kind} is not registered`);
    const event = this.prepare(tx, newEvent);
    await insertEvent(tx, event);
    await this.deliveries.fanOut(tx, event);
  }

  /** Stores an event in `tx` that only the feed shows. */
  async record(tx: Tx, newEvent: NewFeedEvent): Promise<void> {
    await insertEvent(tx, this.prepare(tx, newEvent));
  }

  /** The row that `tx` is to insert. Readers of the feed are told after the commit. */
  prepare(tx: Tx, { accountId, kind, body, recordingId, run }: NewWebhookEvent): InsertedEvent {
    tx.afterCommit(() => this.signals.announce(accountId));
    return {
      id: uuidv7(),
      accountId,
      kind,
      recordingId: recordingId ?? null,
      run: run ?? null,
      userId: endUserOf(body),
      body,
      createdAt: new Date(),
    };
  }

  /**
   * Removes an end user and the tags from the bodies of up to `count` events. The events stay, and deliveries that are
   * still to come send the new body. @returns how many, and whether those were the last.
   */
  async redactUser(
    accountId: string,
    userId: string,
    until: string,
    count: number,
  ): Promise<{ redacted: number; isLast: boolean }> {
    const ids = await selectEventsOfUser(this.database, accountId, userId, until, count);
    return await this.database.transact(async (tx) => {
      // Another process may have changed some of them meanwhile.
      const events = await lockEventsOfUser(tx, userId, ids);
      await replaceBodies(
        tx,
        events.map(({ id, body }) => ({ id, body: withoutPersonalData(body) })),
      );
      return { redacted: events.length, isLast: ids.length < count };
    });
  }

  /**
   * Deletes events past EVENT_RETENTION_DAYS, with their deliveries. Those that wait for a delivery stay, however many there
   * are: each round goes on behind those that the last has seen, and begins at the oldest again after the last.
   */
  async deleteOld(): Promise<void> {
    for (let kept = 0, round = 0; kept < MAX_KEPT && round < MAX_ROUNDS; round++) {
      const { eventRetentionDays } = this.env;
      const { scanned, deleted, last } = await deleteOldEvents(
        this.database,
        eventRetentionDays,
        this.scannedTo,
        BATCH,
      );
      const isLast = scanned < BATCH || last === null;
      this.scannedTo = isLast ? FIRST_PLACE : last;
      if (isLast) return;
      kept += scanned - deleted;
    }
  }
}
