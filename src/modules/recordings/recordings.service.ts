import { Injectable } from '@nestjs/common';
import DataLoader from 'dataloader';
import { DatabaseService } from '../../platform/database/database.service.js';
import { ConflictError, NotFoundError } from '../../platform/errors/errors.js';
import { EventBus } from '../../platform/events/event-bus.js';
import type { PageResult } from '../../platform/http/page.js';
import { isResourceId } from '../../platform/http/input/resource-id.js';
import { ObjectRemovalsService } from '../../platform/storage/object-removals.service.js';
import { Recording } from './recording.entity.js';
import { pageStatement } from './recordings.queries.js';
import type { ListRecordingsQuery } from './recordings.dto.js';
import { RecordingAccepted, RecordingDeleted } from './recordings.events.js';
import { COUNTERS_OF_ACCOUNT, countDeletion, countStatusChange } from './usage-counters/usage-counters.js';

/** What an account used in one month. */
export interface UsagePeriod {
  recordings: number;
  durationMs: number;
  bytes: number;
}

interface Asked {
  accountId: string;
  id: string;
}

/** Recordings that one statement looks up. */
const MAX_LOOKUPS = 50;

@Injectable()
export class RecordingsService {
  private columnList: string | undefined;
  private lookupStatement: string | undefined;
  /** Gets that come at the same time share a statement: most of what one costs is on the way, not in Postgres. */
  private readonly lookups = new DataLoader<Asked, Recording | null>((asked) => this.lookUp(asked), {
    cache: false,
    maxBatchSize: MAX_LOOKUPS,
  });

  constructor(
    private readonly database: DatabaseService,
    private readonly objects: ObjectRemovalsService,
    private readonly bus: EventBus,
  ) {}

  /** @throws NotFoundError */
  async get(accountId: string, id: string): Promise<Recording> {
    if (!isResourceId(id)) throw new NotFoundError('recording');
    const recording = await this.lookups.load({ accountId, id });
    if (!recording) throw new NotFoundError('recording');
    return recording;
  }

  /** Page and total come from one statement, and so from one snapshot. */
  async list(accountId: string, query: ListRecordingsQuery): Promise<PageResult<Recording>> {
    const { sql, parameters } = pageStatement(this.columns, accountId, query);
    const rows = await this.database.prepared<Recording & { total: number }>(sql, parameters);
    // Without recordings on the page there is still the row with the total.
    return { items: rows.filter((row) => row.id !== null), total: rows[0]?.total ?? 0 };
  }

  /** Usage of the UTC month of `now`, and of the month before. */
  async usage(accountId: string, now: Date): Promise<[UsagePeriod, UsagePeriod]> {
    const first = (monthsBack: number): string =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsBack, 1)).toISOString().slice(0, 10);
    const rows = await this.database.query<UsagePeriod & { current: boolean }>(
      `SELECT day >= $2::date AS current, sum(accepted)::float8 AS recordings,
              sum(duration_ms)::float8 AS "durationMs", sum(bytes)::float8 AS bytes
       FROM ${COUNTERS_OF_ACCOUNT} AS tallies WHERE day >= $3::date AND day < $4::date GROUP BY 1`,
      [accountId, first(0), first(1), first(-1)],
    );
    const none = { recordings: 0, durationMs: 0, bytes: 0 };
    return [rows.find((row) => row.current) ?? none, rows.find((row) => !row.current) ?? none];
  }

  /** Opens a new run of a failed recording. @throws NotFoundError, ConflictError when it has not failed */
  async retry(accountId: string, id: string): Promise<Recording> {
    await this.get(accountId, id);
    return await this.database.transact(async (tx) => {
      const [recording] = await tx.query<Recording>(
        `UPDATE recordings r SET status = 'processing', run = run + 1, attempt = 0, faults = 0, lease_until = NULL,
           processed_at = NULL, features = NULL, failure_reason = NULL, updated_at = now()
         WHERE id = $2 AND account_id = $1 AND status = 'failed' RETURNING ${this.columns}`,
        [accountId, id],
      );
      if (!recording) throw new ConflictError('Only a recording that has failed can be retried.');
      await countStatusChange(tx, recording, 'failed', 'processing', 0);
      await this.bus.emit(new RecordingAccepted(recording), tx);
      return recording;
    });
  }

  /** In every state: the row, what hangs on it, and the audio. @throws NotFoundError */
  async delete(accountId: string, id: string): Promise<void> {
    await this.get(accountId, id);
    await this.database.transact(async (tx) => {
      const [recording] = await tx.query<Recording>(
        `DELETE FROM recordings r WHERE id = $2 AND account_id = $1 RETURNING ${this.columns}`,
        [accountId, id],
      );
      if (!recording) throw new NotFoundError('recording');
      await countDeletion(tx, recording);
      await this.objects.discard(tx, recording.objectKey);
      await this.bus.emit(new RecordingDeleted(recording), tx);
    });
  }

  private async lookUp(asked: readonly Asked[]): Promise<(Recording | null)[]> {
    this.lookupStatement ??= `
      SELECT asked.place::int, found.* FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS asked (account_id, id, place)
      CROSS JOIN LATERAL (
        SELECT ${this.columns} FROM recordings r WHERE r.id = asked.id AND r.account_id = asked.account_id LIMIT 1
      ) found`;
    const rows = await this.database.prepared<Recording & { place: number }>(this.lookupStatement, [
      asked.map(({ accountId }) => accountId),
      asked.map(({ id }) => id),
    ]);
    const answers = Array<Recording | null>(asked.length).fill(null);
    for (const row of rows) answers[row.place - 1] = row;
    return answers;
  }

  private get columns(): string {
    this.columnList ??= this.database.columns(Recording, 'r');
    return this.columnList;
  }
}
