import { Injectable } from '@nestjs/common';
import { NIL, v7 as uuidv7 } from 'uuid';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService, type SqlRunner, type Tx } from '../../../platform/database/database.service.js';
import { traces } from '../../../platform/observability/traces/traces.js';
import { deliveryOf } from '../deliveries/deliveries.queries.js';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { EVENT_KINDS, type FeedKind } from './event-catalogue.js';
import { endUserOf, withoutPersonalData, withoutText } from './event-payload.js';
import { EventSignalsService } from './event-signals.service.js';
import type { WebhookEvent } from './webhook-event.entity.js';

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

/** An event that is inserted: its number is given after the commit. */
export type InsertedEvent = Omit<WebhookEvent, 'sequence' | 'position'>;

/** A row in the order of time and id. The time is as Postgres writes it, because a Date has no microseconds. */
export interface Position {
  at: string;
  id: string;
}

/** Before the first row of all. */
export const FIRST_PLACE: Position = { at: '-infinity', id: NIL };

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
    const { id, accountId, recordingId } = event;
    const attributes = {
      'voice_notes.account.id': accountId,
      'voice_notes.recording.id': recordingId,
      'voice_notes.event.id': id,
      'voice_notes.event.type': kind,
    };
    const options = { attributes, begins: recordingId === null };
    await traces.produce(deliveryOf(event), 'publish event', options, async () => {
      await insertEvent(tx, event);
      await this.deliveries.fanOut(tx, event);
    });
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

  /** Removes end users and tags from the bodies of the events of these recordings, in `tx`. */
  async redactRecordings(tx: Tx, recordings: readonly { id: string; accountId: string }[]): Promise<void> {
    const events = await lockEventsOfRecordings(tx, recordings);
    await replaceBodies(
      tx,
      events.map(({ id, body }) => ({ id, body: withoutPersonalData(body) })),
    );
  }

  /** Removes the text of a recording that goes from the bodies of its `recording.partial` events, which stay (D77). */
  async removeText(tx: Tx, accountId: string, recordingId: string): Promise<void> {
    const events = await lockPartsOf(tx, accountId, recordingId);
    if (events.length === 0) return;
    await replaceBodies(
      tx,
      events.map(({ id, body }) => ({ id, body: withoutText(body) })),
    );
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

const COLUMNS = 'id, account_id, kind, recording_id, run, user_id, body, created_at';
const COLUMN_COUNT = 8;

export const eventParameters = (event: InsertedEvent): unknown[] => [
  event.id,
  event.accountId,
  event.kind,
  event.recordingId,
  event.run,
  event.userId,
  event.body,
  event.createdAt,
];

/** The INSERT of one event for each row of a CTE. @param first number of the first placeholder */
export function insertEventFor(cte: string, first: number): string {
  const values = Array.from({ length: COLUMN_COUNT }, (_, i) => `$${first + i}`).join(', ');
  return `INSERT INTO events (${COLUMNS}) SELECT ${values} FROM ${cte}`;
}

/** SQL, because it is prepared: every upload ends with one. */
async function insertEvent(tx: Tx, event: InsertedEvent): Promise<void> {
  await tx.prepared(`INSERT INTO events (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, eventParameters(event));
}

export interface OldEvents {
  scanned: number;
  deleted: number;
  /** Of the last that was scanned; null when none was. */
  last: Position | null;
}

/**
 * Looks at the next `count` events past their retention and deletes those that have no pending delivery. SQL, because one
 * statement tells what it has scanned and what it has deleted.
 */
export async function deleteOldEvents(
  runner: SqlRunner,
  days: number,
  after: Position,
  count: number,
): Promise<OldEvents> {
  const [row] = await runner.query<OldEvents>(
    `WITH scanned AS MATERIALIZED (
       SELECT id, created_at FROM events
       WHERE created_at < now() - make_interval(days => $1) AND (created_at, id) > ($2::timestamptz, $3::uuid)
       ORDER BY created_at, id LIMIT $4),
     gone AS (
       DELETE FROM events WHERE id IN (
         SELECT s.id FROM scanned s
         WHERE NOT EXISTS (SELECT FROM deliveries d WHERE d.event_id = s.id AND d.status = 'pending'))
       RETURNING 1)
     SELECT (SELECT count(*)::int FROM scanned) AS scanned, (SELECT count(*)::int FROM gone) AS deleted,
       (SELECT json_build_object('at', created_at, 'id', id) FROM scanned ORDER BY created_at DESC, id DESC LIMIT 1) AS last`,
    [days, after.at, after.id, count],
  );
  return row as OldEvents;
}

/**
 * The next events that name an end user, in no order: to sort all of them for each batch would take hours with a million.
 * SQL because of LIMIT. @returns their ids
 */
async function selectEventsOfUser(
  runner: SqlRunner,
  accountId: string,
  userId: string,
  until: string,
  count: number,
): Promise<string[]> {
  const rows = await runner.query<{ id: string }>(
    `SELECT id FROM events e WHERE account_id = $1 AND user_id = $2 AND (created_at <= $3::timestamptz
       OR NOT EXISTS (SELECT FROM recordings r WHERE r.id = e.recording_id)) LIMIT $4`,
    [accountId, userId, until, count],
  );
  return rows.map(({ id }) => id);
}

/**
 * Those of the events that still name the end user, locked by `tx` in the order of their ids, so that two that lock the same
 * cannot deadlock. SQL because of FOR UPDATE.
 */
async function lockEventsOfUser(
  tx: Tx,
  userId: string,
  ids: readonly string[],
): Promise<{ id: string; body: string }[]> {
  return await tx.query(
    `SELECT id, body FROM events WHERE id = ANY ($1) AND user_id = $2 ORDER BY id FOR NO KEY UPDATE`,
    [ids, userId],
  );
}

/** In the order of their ids, as above. SQL because of FOR UPDATE. */
async function lockEventsOfRecordings(
  tx: Tx,
  recordings: readonly { id: string; accountId: string }[],
): Promise<{ id: string; body: string }[]> {
  return await tx.prepared(
    `SELECT e.id, e.body FROM events e
     WHERE e.recording_id = ANY ($2::uuid[]) AND e.account_id = ANY ($1::uuid[]) ORDER BY e.id FOR NO KEY UPDATE`,
    [recordings.map(({ accountId }) => accountId), recordings.map(({ id }) => id)],
  );
}

/** The `recording.partial` events of a recording, locked in the order of their ids. SQL because of FOR UPDATE. */
async function lockPartsOf(tx: Tx, accountId: string, recordingId: string): Promise<{ id: string; body: string }[]> {
  return await tx.query(
    `SELECT id, body FROM events WHERE recording_id = $2 AND kind = 'recording.partial' AND account_id = $1
     ORDER BY id FOR NO KEY UPDATE`,
    [accountId, recordingId],
  );
}

/** With them go the answers of receivers, which may repeat them. SQL, because one statement gives each row another body. */
async function replaceBodies(tx: Tx, events: readonly { id: string; body: string }[]): Promise<void> {
  await tx.query(
    `WITH sent AS (
       UPDATE deliveries SET last_response = NULL WHERE event_id = ANY ($1) RETURNING id
     ), tried AS (
       UPDATE delivery_attempts a SET response = NULL FROM sent WHERE a.delivery_id = sent.id
     )
     UPDATE events e SET body = redacted.body, user_id = redacted.user_id
     FROM unnest($1::uuid[], $2::text[], $3::text[]) AS redacted (id, body, user_id) WHERE e.id = redacted.id`,
    [events.map(({ id }) => id), events.map(({ body }) => body), events.map(({ body }) => endUserOf(body))],
  );
}
