import { Injectable, type OnModuleInit } from '@nestjs/common';
import { endAccountExport } from '../../access/accounts.queries.js';
import { auditTarget, eraseActor, recordChanges } from '../../access/audit-trail.js';
import { DatabaseService, type SqlRunner } from '../../platform/database/database.service.js';
import { ReconcilerService } from '../../platform/queue/reconciler.service.js';
import { RecordingErasureService } from '../recordings/recording-erasure.service.js';
import { WebhookEventsService } from '../webhooks/events/webhook-events.service.js';

/** An end user of whom everything until a time is erased: as Postgres writes it, because a Date has no microseconds. */
interface Erasure {
  accountId: string;
  userId: string;
  until: string;
}

/** What an erasure has done so far. */
export interface ErasureResult {
  deletedRecordings: number;
  redactedEvents: number;
  /** What is on hold, and stays (D79). */
  heldRecordings: number;
  /** False when the reconciler does the rest, or something is on hold. */
  complete: boolean;
}

/** A request is answered after this time, and a round of the reconciler ends. */
const WORK_MS = 5000;
/** Events that one transaction changes. */
const EVENTS = 200;
/** Erasures that one round of the reconciler works on. */
const MAX_ERASURES = 10;

/** Erases what end users had until the request, in batches that are each complete: one that was interrupted is continued (D46). */
@Injectable()
export class UsersService implements OnModuleInit {
  constructor(
    private readonly database: DatabaseService,
    private readonly recordings: RecordingErasureService,
    private readonly events: WebhookEventsService,
    private readonly reconciler: ReconcilerService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('erase users', () => this.continueErasures());
  }

  async erase(accountId: string, userId: string): Promise<ErasureResult> {
    const until = await this.database.transact(async (tx) => {
      // It names nobody.
      // It may have what the user has said.
      await endAccountExport(tx, accountId);
      await recordChanges(tx, { accountId, action: 'user.erased', targets: [auditTarget('account', accountId)] });
      return await requestErasure(tx, accountId, userId);
    });
    return await this.work({ accountId, userId, until });
  }

  private async continueErasures(): Promise<void> {
    for (const erasure of await selectErasures(this.database, MAX_ERASURES)) await this.work(erasure);
  }

  private async work(erasure: Erasure): Promise<ErasureResult> {
    const { accountId, userId, until } = erasure;
    const deadline = Date.now() + WORK_MS;
    const heldRecordings = await this.recordings.countHeld(erasure);
    const result = { deletedRecordings: 0, redactedEvents: 0, heldRecordings, complete: false };
    const hasHeld = heldRecordings > 0;
    const forgetUsage = () => this.database.transact((tx) => this.recordings.forgetUsage(tx, accountId, userId));
    if (!hasHeld) await forgetUsage();
    // The recordings first, because a transcription that is under way adds an event of the user when it ends.
    for (let left = true; left;) {
      if (Date.now() > deadline) return result;
      const deleted = await this.recordings.deleteSome(erasure, hasHeld);
      result.deletedRecordings += deleted;
      left = deleted > 0 || (await this.recordings.hasRecordings(erasure));
    }
    await this.recordings.forgetIdempotencyKeys(erasure);
    // What changed while it was under way, unless the user has come back.
    const hasOthers = await this.recordings.hasOtherRecordings(accountId, userId);
    if (!hasOthers) await forgetUsage();
    for (let left = true; left;) {
      if (Date.now() > deadline) return result;
      const { redacted, isLast } = await this.events.redactUser(accountId, userId, until, EVENTS);
      result.redactedEvents += redacted;
      left = !isLast;
    }
    for (let left = true; left;) {
      if (Date.now() > deadline) return result;
      left = (await eraseActor(this.database, accountId, userId, EVENTS)) === EVENTS;
    }
    await endErasure(this.database, erasure);
    return { ...result, complete: !hasHeld };
  }
}

/** SQL, because the clock of the database decides. @returns the time of the request, up to which it erases */
async function requestErasure(runner: SqlRunner, accountId: string, userId: string): Promise<string> {
  const [row] = await runner.query<{ until: string }>(
    `INSERT INTO user_erasures (account_id, user_id, requested_at) VALUES ($1, $2, clock_timestamp())
     ON CONFLICT (account_id, user_id) DO UPDATE SET requested_at = excluded.requested_at
     RETURNING requested_at::text AS until`,
    [accountId, userId],
  );
  return (row as { until: string }).until;
}

/** The oldest first. SQL, because of the time. */
async function selectErasures(runner: SqlRunner, count: number): Promise<Erasure[]> {
  return await runner.query(
    `SELECT account_id AS "accountId", user_id AS "userId", requested_at::text AS until
     FROM user_erasures ORDER BY requested_at LIMIT $1`,
    [count],
  );
}

/** Unless it was requested again meanwhile. SQL, because of the time. */
async function endErasure(runner: SqlRunner, { accountId, userId, until }: Erasure): Promise<void> {
  await runner.query(
    'DELETE FROM user_erasures WHERE account_id = $1 AND user_id = $2 AND requested_at = $3::timestamptz',
    [accountId, userId, until],
  );
}
