import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Quotas } from '../../../access/quotas.js';
import { MAX_FILE_BYTES } from '../../../platform/audio/audio-formats.js';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { lockByName } from '../../../platform/database/locks.queries.js';
import { QuotaExceededError } from '../../../platform/errors/errors.js';
import { coalesce } from '../../../platform/concurrency/coalesce.js';
import { QuotaRefusalsService } from './quota-refusals.service.js';
import {
  countsUsage,
  demandOfOthers,
  monthStart,
  type QuotaDemand,
  type QuotaUsage,
  refusalOf,
  sumOf,
} from './quota-rules.js';
import { readQuotaUsage } from './quotas.queries.js';
import { UploadSlotsService } from './upload-slots.service.js';

export { monthEnd as quotaResetsAt } from './quota-rules.js';

export interface QuotaOverview extends QuotaUsage {
  concurrentUploads: number;
}

/** For how long an account that was seen with room is admitted without another look. */
const RECENT_MS = 2000;
const MAX_ACCOUNTS = 10_000;

/**
 * Compares what an account has used with its quotas (D32). Uploads of an account wait for one another only near a
 * limit: elsewhere the largest uploads that may be under way beside this one still fit, so no lock is needed.
 */
@Injectable()
export class QuotasService {
  /** Callers that come while a statement is under way share the next one, so that a figure is never older than its call. */
  private readonly readShared: (accountId: string) => Promise<QuotaUsage>;
  private readonly recent = new LRUCache<string, QuotaUsage>({ max: MAX_ACCOUNTS, ttl: RECENT_MS });

  constructor(
    database: DatabaseService,
    private readonly refusals: QuotaRefusalsService,
    private readonly slots: UploadSlotsService,
    private readonly env: Env,
  ) {
    this.readShared = coalesce<string, QuotaUsage>((accountIds) => readDistinct(database, accountIds));
  }

  /** What the account has used of each quota. */
  async overview(accountId: string): Promise<QuotaOverview> {
    const [usage, concurrentUploads] = await Promise.all([this.usage(accountId), this.slots.count(accountId)]);
    return { ...usage, concurrentUploads };
  }

  /** The refusal that is certain before the audio is known, of at least `bytes`. Null when there is none. */
  async findRefusal(accountId: string, quotas: Quotas, bytes: number): Promise<QuotaExceededError | null> {
    if (!countsUsage(quotas)) return null;
    const demand = { bytes, monthMs: 0, queuedMs: 0 };
    const recent = this.recent.get(accountId);
    if (recent && !refusalOf(quotas, recent, demand, new Date())) return null;
    return refusalOf(quotas, await this.usage(accountId), demand, new Date());
  }

  /**
   * @returns whether the account is so near a limit that `enforce` must decide in the transaction of the change.
   * @throws QuotaExceededError
   */
  async isNearLimit(accountId: string, quotas: Quotas, demand: QuotaDemand): Promise<boolean> {
    if (!countsUsage(quotas)) return false;
    const usage = await this.usage(accountId);
    this.refuse(refusalOf(quotas, usage, demand, new Date()));
    const others = demandOfOthers(quotas, { bytes: MAX_FILE_BYTES, seconds: this.env.maxAudioSeconds });
    return refusalOf(quotas, usage, sumOf(demand, others), new Date()) !== null;
  }

  /** Exact: changes of one account that call this wait for one another until they commit. @throws QuotaExceededError */
  async enforce(tx: Tx, accountId: string, quotas: Quotas, demand: QuotaDemand): Promise<void> {
    if (!countsUsage(quotas)) return;
    await lockByName(tx, `quotas:${accountId}`);
    const [usage] = await readQuotaUsage(tx, [accountId], monthStart(new Date()));
    if (usage) this.refuse(refusalOf(quotas, usage, demand, new Date()));
  }

  /** @throws QuotaExceededError unless it is null, and counts it. */
  refuse(refusal: QuotaExceededError | null): void {
    if (!refusal) return;
    this.refusals.count(refusal.quota);
    throw refusal;
  }

  private async usage(accountId: string): Promise<QuotaUsage> {
    const usage = await this.readShared(accountId);
    this.recent.set(accountId, usage);
    return usage;
  }
}

async function readDistinct(database: DatabaseService, accountIds: readonly string[]): Promise<QuotaUsage[]> {
  const distinct = [...new Set(accountIds)];
  const usages = await readQuotaUsage(database, distinct, monthStart(new Date()));
  return accountIds.map((accountId) => usages[distinct.indexOf(accountId)] as QuotaUsage);
}
