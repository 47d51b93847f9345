import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Registry } from 'prom-client';
import { accountNotOnHold } from '../../../access/accounts.queries.js';
import { sharedRun } from '../../../platform/concurrency/shared-run.js';
import { DatabaseService, type SqlRunner } from '../../../platform/database/database.service.js';
import { HealthService } from '../../../platform/observability/health.service.js';
import { addGauge } from '../../../platform/observability/metrics.js';
import { ReconcilerService } from '../../../platform/queue/reconciler.service.js';
import { RecordingInclusionsService } from '../../recordings/recording-inclusions.service.js';
import { AnnouncedEnginesService } from './announced-engines.service.js';

const COUNT_KEPT_MS = 10_000;

/** Tells clients and operators of recordings that wait for an engine which no running worker has (D67). */
@Injectable()
export class UnservedRecordingsService implements OnModuleInit {
  private readonly logger = new Logger(UnservedRecordingsService.name);
  private readonly count = sharedRun(() => this.readCount(), COUNT_KEPT_MS);
  private hasWarned = false;

  constructor(
    private readonly announced: AnnouncedEnginesService,
    private readonly database: DatabaseService,
    private readonly inclusions: RecordingInclusionsService,
    private readonly health: HealthService,
    private readonly reconciler: ReconcilerService,
    private readonly registry: Registry,
  ) {}

  onModuleInit(): void {
    this.inclusions.register('waiting_for', async ({ id }) => {
      const names = await this.announced.names();
      return names !== null && (await isUnserved(this.database, id, names)) ? 'engine' : null;
    });
    this.health.notice('waiting_for_engine', async () => {
      const count = await this.count();
      return count ? `${count} recordings wait for an engine that no running worker has` : null;
    });
    const help = 'Recordings that have waited for a minute for an engine that no running worker has.';
    addGauge(this.registry, 'recordings_waiting_for_engine', help, () => this.count());
    this.reconciler.register('look for recordings without an engine', () => this.warn());
  }

  /** Null when it cannot be known. */
  private async readCount(): Promise<number | null> {
    const names = await this.announced.names();
    return names === null ? null : await countUnserved(this.database, names).catch(() => null);
  }

  /** A line when it begins and when it ends. */
  private async warn(): Promise<void> {
    const count = await this.count();
    if (count === null || count > 0 === this.hasWarned) return;
    this.hasWarned = count > 0;
    const fields = { recordings: count, engines: await this.announced.names() };
    if (count > 0) this.logger.warn(fields, 'recordings wait for an engine that no running worker has');
    else this.logger.log(fields, 'all recordings have an engine again');
  }
}

/** Of each index, the recordings that are looked at. */
const LOOKED_AT = 10_000;
/** A restart of the workers is no reason for an alarm. */
const GRACE_SECONDS = 60;

/** Whether one of the engines $1 may transcribe recording `r` of account `a`. Without a chain of its own, any worker may. */
const IS_SERVED = `CASE
  WHEN r.requested_engine IS NOT NULL THEN r.requested_engine = ANY ($1::text[])
  WHEN a.engines IS NOT NULL THEN EXISTS (
    SELECT FROM jsonb_array_elements(a.engines) AS own WHERE own ->> 'name' = ANY ($1::text[]))
  ELSE cardinality($1::text[]) > 0 END`;

const REQUESTED = `(status = 'processing' OR rerun = 'requested')`;
const COLUMNS = 'account_id, requested_engine, coalesce(rerun_at, created_at) AS queued_at';

/**
 * Recordings that have waited for a minute, and that none of these engines may transcribe. SQL, because of the clock of
 * the database and the table of another module; each half has an index, whose order keeps Postgres from reading all
 * recordings instead.
 */
export async function countUnserved(runner: SqlRunner, running: readonly string[]): Promise<number> {
  const [row] = await runner.prepared<{ count: number }>(
    `SELECT count(*)::int AS count FROM (
       (SELECT ${COLUMNS} FROM recordings WHERE ${REQUESTED} AND lease_until IS NULL ORDER BY account_id LIMIT ${LOOKED_AT})
       UNION ALL
       (SELECT ${COLUMNS} FROM recordings WHERE ${REQUESTED} AND lease_until IS NOT NULL AND lease_token IS NULL
        ORDER BY account_id LIMIT ${LOOKED_AT})) r
     JOIN accounts a ON a.id = r.account_id
     WHERE r.queued_at < now() - make_interval(secs => ${GRACE_SECONDS}) AND ${accountNotOnHold('a.id')}
       AND NOT (${IS_SERVED})`,
    [running],
  );
  return row?.count ?? 0;
}

/** Whether a recording waits, and none of these engines may transcribe it. SQL, because of the table of another module. */
async function isUnserved(runner: SqlRunner, id: string, running: readonly string[]): Promise<boolean> {
  const rows = await runner.prepared(
    `SELECT 1 FROM recordings r JOIN accounts a ON a.id = r.account_id
     WHERE r.id = $2 AND (r.status = 'processing' OR r.rerun IS NOT NULL) AND r.lease_token IS NULL AND NOT (${IS_SERVED})`,
    [running, id],
  );
  return rows.length > 0;
}
