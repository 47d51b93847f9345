import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Quotas } from '../../../access/plans.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { QuotaExceededError } from '../../../platform/errors/errors.js';
import { coalesce } from '../../../platform/concurrency/coalesce.js';
import { insertReservations, type ObjectReservation } from '../../../platform/storage/object-removals.service.js';
import { QuotaRefusalsService } from './quota-refusals.service.js';
import { countsUsage, monthStart, type QuotaDemand, type QuotaUsage, refusalOf, withDemand } from './quota-rules.js';
import { hasReservations, lockQuotas, readQuotaUsage } from './quotas.queries.js';
import { UploadSlotsService } from './upload-slots.service.js';

export { monthEnd as quotaResetsAt } from './quota-rules.js';

export interface QuotaOverview extends QuotaUsage {
  concurrentUploads: number;
}

/** For how long an account that was seen with room is admitted without another look. */
const RECENT_MS = 2000;
const MAX_ACCOUNTS = 10_000;

interface UploadDemand {
  reservation: ObjectReservation;
  quotas: Quotas;
}

interface Decision {
  refusal: QuotaExceededError | null;
}

/**
 * Compares what an account has used with its quotas (D32). An upload is counted from the reservation of its object on,
 * before anything of it is stored, so that no upload can exceed a quota however long storage takes
 * (docs/decisions/0011).
 */
@Injectable()
export class QuotasService {
  /** Callers that come while a statement is under way share the next one, so that a figure is never older than its call. */
  private readonly readShared: (accountId: string) => Promise<QuotaUsage>;
  /** Uploads that come while a transaction is under way share the next one, and with it a commit. */
  private readonly reserveShared: (upload: UploadDemand) => Promise<Decision>;
  private readonly recent = new LRUCache<string, QuotaUsage>({ max: MAX_ACCOUNTS, ttl: RECENT_MS });

  constructor(
    private readonly database: DatabaseService,
    private readonly refusals: QuotaRefusalsService,
    private readonly slots: UploadSlotsService,
  ) {
    this.readShared = coalesce<string, QuotaUsage>((accountIds) => readDistinct(database, accountIds));
    this.reserveShared = coalesce<UploadDemand, Decision>((uploads) =>
      database.transact((tx) => reserveFitting(tx, uploads)),
    );
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
   * Puts the object on the list of those to remove, and counts the upload until its recording is stored, or the object is
   * given up. Resolves once it is committed; the object must not be written before.
   * @throws QuotaExceededError; then nothing is reserved
   */
  async reserve(reservation: ObjectReservation, quotas: Quotas): Promise<void> {
    const { refusal } = await this.reserveShared({ reservation, quotas });
    this.refuse(refusal);
  }

  /** Whether uploads of the account are counted that are not stored yet. */
  async hasReservations(accountId: string): Promise<boolean> {
    return await hasReservations(this.database, accountId);
  }

  /** What needs room without an upload. Until `tx` ends the account uses nothing else. @throws QuotaExceededError */
  async enforce(tx: Tx, accountId: string, quotas: Quotas, demand: QuotaDemand): Promise<void> {
    if (!countsUsage(quotas)) return;
    await lockQuotas(tx, [accountId]);
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

/** In the order in which they came, each beside those that were let in before it. */
async function reserveFitting(tx: Tx, uploads: readonly UploadDemand[]): Promise<Decision[]> {
  const now = new Date();
  const limited = uploads.filter(({ quotas }) => countsUsage(quotas)).map(({ reservation }) => reservation.accountId);
  const usages = await lockUsage(tx, [...new Set(limited)], monthStart(now));
  const fitting: ObjectReservation[] = [];
  const answers = uploads.map(({ reservation, quotas }) => {
    const { accountId, bytes, durationMs } = reservation;
    const demand = { bytes, monthMs: durationMs, queuedMs: durationMs };
    const usage = usages.get(accountId);
    const refusal = usage ? refusalOf(quotas, usage, demand, now) : null;
    if (!refusal) {
      if (usage) usages.set(accountId, withDemand(usage, demand));
      fitting.push(reservation);
    }
    return { refusal };
  });
  if (fitting.length > 0) await insertReservations(tx, fitting);
  return answers;
}

async function lockUsage(tx: Tx, accountIds: string[], month: string): Promise<Map<string, QuotaUsage>> {
  if (accountIds.length === 0) return new Map();
  await lockQuotas(tx, accountIds);
  const usages = await readQuotaUsage(tx, accountIds, month);
  return new Map(accountIds.map((accountId, i) => [accountId, usages[i] as QuotaUsage]));
}
