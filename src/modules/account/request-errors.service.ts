import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Request } from 'express';
import { Counter, Registry } from 'prom-client';
import { DelayedWrite } from '../../platform/concurrency/delayed-write.js';
import { ReconcilerService, repeatWhileFull } from '../../platform/queue/reconciler.service.js';
import { Env } from '../../platform/config/env.js';
import { DatabaseService, type SqlRunner } from '../../platform/database/database.service.js';
import type { ApiError } from '../../platform/errors/errors.js';
import { MCP_PATH } from '../../platform/http/server/request-line.js';
import { callerOf, requestIdOf } from '../../platform/observability/request-log.middleware.js';
import { redactSecrets } from '../../platform/secrets.service.js';

const FLUSH_MS = 1000;
/** Rows deleted by one statement. */
const BATCH = 1000;
const FORBIDDEN = 403;
const OTHER_PATH = '/v1/*';
/** Groups of all accounts, which bounds memory while Postgres does not answer. */
const MAX_GROUPS = 10_000;
const MAX_FIELD = 100;
const MAX_MESSAGE = 500;
/** Request ids that are kept of each kind of error. */
const MAX_REQUEST_IDS = 5;

/** Requests of an account that were refused on one day for the same reason (D53). */
export interface RequestError {
  accountId: string;
  /** `YYYY-MM-DD` in UTC. */
  day: string;
  /** Method and route, such as `GET /v1/recordings/{recording_id}`: never a path that a client sent. */
  operation: string;
  status: number;
  /** Code of the error; most are numbers. */
  code: string;
  /** The first field or parameter that broke a rule; empty for errors that name none. */
  field: string;
  type: string;
  count: number;
  firstAt: Date;
  lastAt: Date;
  /** Message of the last error. */
  message: string;
  /** Ids of the last requests, the newest first. */
  requestIds: string[];
}

export type RequestErrorGroup = Omit<RequestError, 'accountId' | 'day'>;

/**
 * Counts the refused requests of accounts (D53). They are added up in memory and written once a second, in one statement
 * for all, so that any number of refusals costs the same. A process that dies loses its last second.
 */
@Injectable()
export class RequestErrorsService implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(RequestErrorsService.name);
  private readonly pending: PendingErrors;
  private readonly dropped: Counter;
  private readonly delayed = new DelayedWrite(FLUSH_MS, () => this.write());

  constructor(
    private readonly database: DatabaseService,
    private readonly env: Env,
    private readonly reconciler: ReconcilerService,
    registry: Registry,
  ) {
    this.pending = new PendingErrors(env.requestErrorGroups);
    this.dropped = new Counter({
      name: 'request_errors_dropped_total',
      help: 'Refused requests that are missing in GET /v1/account/errors, because there were too many kinds at once.',
      registers: [registry],
    });
  }

  onModuleInit(): void {
    this.reconciler.register('delete old request errors', () => this.deleteOld());
  }

  /** Counts a request that was answered with an error. One without valid credentials belongs to no account. */
  record(request: Request, error: ApiError): void {
    const caller = callerOf(request);
    if (!caller) return;
    const isOfEndUser = caller.token_id !== undefined;
    const { field } = error.details;
    const isKept = this.pending.add({
      accountId: caller.account_id,
      operation: isOfEndUser && error.status === FORBIDDEN ? `${request.method} ${OTHER_PATH}` : operationOf(request),
      status: error.status,
      code: String(error.code),
      type: error.type,
      // An end user chooses the names of fields: so few kinds of errors are theirs that they push out no others.
      field: typeof field === 'string' && !isOfEndUser ? field : null,
      message: error.message,
      requestId: requestIdOf(request),
      at: new Date(),
    });
    if (!isKept) this.dropped.inc();
    this.delayed.schedule();
  }

  async list(accountId: string, query: { days: number; limit: number }): Promise<RequestErrorGroup[]> {
    return await selectRequestErrors(this.database, accountId, query);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.delayed.flush();
  }

  private async write(): Promise<void> {
    if (this.pending.size === 0) return;
    const groups = this.pending.take();
    try {
      const grown = await addRequestErrors(this.database, groups);
      if (grown.length > 0) await this.trim(grown);
    } catch (error) {
      this.logger.warn({ err: error }, 'request errors not written; retrying');
      this.dropped.inc(this.pending.restore(groups));
      this.delayed.schedule();
    }
  }

  /** What this leaves is trimmed with the next new group of the account. */
  private async trim(accountIds: readonly string[]): Promise<void> {
    await trimRequestErrors(this.database, accountIds, this.env.requestErrorGroups).catch((error: unknown) =>
      this.logger.warn({ err: error }, 'request errors not trimmed'),
    );
  }

  private async deleteOld(): Promise<void> {
    const { requestErrorRetentionDays } = this.env;
    await repeatWhileFull(BATCH, () => deleteOldRequestErrors(this.database, requestErrorRetentionDays, BATCH));
  }
}

/** The path of an unknown route is nothing but what its client sent: it is told as `/v1/*`. */
function operationOf(request: Request): string {
  const { path } = request.route as { path: unknown };
  const isKnown = typeof path === 'string' && (path.startsWith('/v1/') || path === MCP_PATH) && !path.includes('{*');
  return `${request.method} ${isKnown ? path.replaceAll(/:(\w+)/g, '{$1}') : OTHER_PATH}`;
}

/** One refused request. */
export interface Refusal extends Pick<
  RequestError,
  'accountId' | 'operation' | 'status' | 'code' | 'type' | 'message'
> {
  /** Null when the error names none. */
  field: string | null;
  requestId: string;
  at: Date;
}

/** Groups of refused requests that are not written yet. */
export class PendingErrors {
  private groups = new Map<string, RequestError>();
  private groupsOf = new Map<string, number>();

  /** @param groupsPerAccount more of an account are not told apart from each other until these are taken. */
  constructor(private readonly groupsPerAccount: number) {}

  get size(): number {
    return this.groups.size;
  }

  /** @returns false when there is no room for another group. */
  add({ field, requestId, at, message, ...refusal }: Refusal): boolean {
    const text = { field: field === null ? '' : cleaned(field, MAX_FIELD), message: cleaned(message, MAX_MESSAGE) };
    const day = at.toISOString().slice(0, 'YYYY-MM-DD'.length);
    return this.merge({ ...refusal, ...text, day, count: 1, firstAt: at, lastAt: at, requestIds: [requestId] });
  }

  /** @returns all groups, which are no longer pending. */
  take(): RequestError[] {
    const taken = [...this.groups.values()];
    this.groups = new Map();
    this.groupsOf = new Map();
    return taken;
  }

  /** Puts back what could not be written. @returns how many requests have no room any more. */
  restore(groups: readonly RequestError[]): number {
    return groups.filter((group) => !this.merge(group)).reduce((sum, { count }) => sum + count, 0);
  }

  private merge(group: RequestError): boolean {
    const { accountId, day, operation, status, code, field } = group;
    const key = [accountId, day, operation, status, code, field].join('\n');
    const known = this.groups.get(key);
    if (known) {
      this.groups.set(key, sumOf(known, group));
      return true;
    }
    const others = this.groupsOf.get(accountId) ?? 0;
    if (others >= this.groupsPerAccount || this.groups.size >= MAX_GROUPS) return false;
    this.groups.set(key, group);
    this.groupsOf.set(accountId, others + 1);
    return true;
  }
}

function sumOf(a: RequestError, b: RequestError): RequestError {
  const [earlier, later] = a.lastAt <= b.lastAt ? [a, b] : [b, a];
  return {
    ...later,
    count: a.count + b.count,
    firstAt: a.firstAt <= b.firstAt ? a.firstAt : b.firstAt,
    requestIds: [...later.requestIds, ...earlier.requestIds].slice(0, MAX_REQUEST_IDS),
  };
}

/** Postgres takes no NUL, and half of a character is none. */
function cleaned(text: string, maxLength: number): string {
  const printable = redactSecrets(text.replace(/\p{Cc}/gu, '�'));
  return printable.slice(0, maxLength).toWellFormed();
}

/**
 * Adds groups to those of their days. Accounts that are gone are left out. Rows are locked in one order, so that two
 * processes that add at the same time cannot deadlock. SQL, because it adds to the rows that are there.
 * @returns the accounts that have a new group.
 */
export async function addRequestErrors(runner: SqlRunner, groups: readonly RequestError[]): Promise<string[]> {
  const rows = await runner.query<{ accountId: string }>(
    `WITH added AS (
       SELECT * FROM jsonb_to_recordset($1::jsonb) AS g ("accountId" uuid, day date, operation text, status integer,
         code text, field text, type text, count bigint, "firstAt" timestamptz, "lastAt" timestamptz, message text,
         "requestIds" text[])),
     present AS MATERIALIZED (
       SELECT id FROM accounts WHERE id IN (SELECT "accountId" FROM added) ORDER BY id FOR KEY SHARE),
     written AS (
       INSERT INTO request_errors AS e
         (account_id, day, operation, status, code, field, type, count, first_at, last_at, message, request_ids)
       SELECT "accountId", day, operation, status, code, field, type, count, "firstAt", "lastAt", message, "requestIds"
       FROM added JOIN present ON present.id = added."accountId" ORDER BY 1, 2, 3, 4, 5, 6
       ON CONFLICT ON CONSTRAINT request_errors_pkey DO UPDATE SET
         count = e.count + excluded.count,
         first_at = least(e.first_at, excluded.first_at),
         last_at = greatest(e.last_at, excluded.last_at),
         message = CASE WHEN excluded.last_at >= e.last_at THEN excluded.message ELSE e.message END,
         request_ids = (CASE WHEN excluded.last_at >= e.last_at THEN excluded.request_ids || e.request_ids
           ELSE e.request_ids || excluded.request_ids END)[1:${MAX_REQUEST_IDS}]
       RETURNING account_id, xmax = 0 AS is_new)
     SELECT DISTINCT account_id AS "accountId" FROM written WHERE is_new`,
    [JSON.stringify(groups)],
  );
  return rows.map(({ accountId }) => accountId);
}

/** Deletes the groups of each day that were seen the longest time ago. SQL, because of the rank. */
async function trimRequestErrors(
  runner: SqlRunner,
  accountIds: readonly string[],
  groupsPerDay: number,
): Promise<void> {
  await runner.query(
    `DELETE FROM request_errors WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM (
         SELECT ctid, row_number() OVER (PARTITION BY account_id, day ORDER BY last_at DESC) AS rank
         FROM request_errors WHERE account_id = ANY ($1)) AS ranked
       WHERE rank > $2))`,
    [accountIds, groupsPerDay],
  );
}

/** Those of the last days (UTC), the present one included, the last seen first. SQL, because days are added up. */
export async function selectRequestErrors(
  runner: SqlRunner,
  accountId: string,
  { days, limit }: { days: number; limit: number },
): Promise<RequestErrorGroup[]> {
  return await runner.query<RequestErrorGroup>(
    `SELECT operation, status, code, field, max(type) AS type, sum(count)::float8 AS count, min(first_at) AS "firstAt",
       max(last_at) AS "lastAt", (array_agg(message ORDER BY day DESC))[1] AS message,
       (string_to_array(string_agg(array_to_string(request_ids, ','), ',' ORDER BY day DESC), ','))[1:${MAX_REQUEST_IDS}]
         AS "requestIds"
     FROM request_errors
     WHERE account_id = $1 AND day > (now() AT TIME ZONE 'UTC')::date - $2::int
     GROUP BY operation, status, code, field
     ORDER BY max(last_at) DESC, operation, status, code, field LIMIT $3`,
    [accountId, days, limit],
  );
}

/** SQL, because the clock of the database decides, and because of LIMIT. @returns how many, at most `count`. */
async function deleteOldRequestErrors(runner: SqlRunner, keptDays: number, count: number): Promise<number> {
  const rows = await runner.query(
    `DELETE FROM request_errors WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM request_errors WHERE day < (now() AT TIME ZONE 'UTC')::date - $1::int LIMIT $2)) RETURNING 1`,
    [keptDays, count],
  );
  return rows.length;
}
