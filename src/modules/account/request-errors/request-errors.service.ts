import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Request } from 'express';
import { Counter, Registry } from 'prom-client';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService } from '../../../platform/database/database.service.js';
import type { ApiError } from '../../../platform/errors/errors.js';
import { requestIdOf } from '../../../platform/http/server/request-id.js';
import { callerOf } from '../../../platform/observability/request-caller.js';
import { DelayedWrite } from '../../../platform/concurrency/delayed-write.js';
import { ReconcilerService } from '../../../platform/reconciler/reconciler.service.js';
import { repeatWhileFull } from '../../../platform/concurrency/repeat-while-full.js';
import { PendingErrors } from './pending-errors.js';
import {
  addRequestErrors,
  deleteOldRequestErrors,
  type RequestErrorGroup,
  selectRequestErrors,
  trimRequestErrors,
} from './request-errors.queries.js';

const FLUSH_MS = 1000;
/** Rows deleted by one statement. */
const BATCH = 1000;
const FORBIDDEN = 403;
const OTHER_PATH = '/v1/*';

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
  const isKnown = typeof path === 'string' && path.startsWith('/v1/') && !path.includes('{*');
  return `${request.method} ${isKnown ? path.replaceAll(/:(\w+)/g, '{$1}') : OTHER_PATH}`;
}
