import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Counter, Registry } from 'prom-client';
import { QUOTA_NAMES, type QuotaName, type Quotas, quotasOf, testQuotasOf } from '../../access/plans.js';
import { coalesce } from '../../platform/concurrency/coalesce.js';
import { DatabaseService, type SqlRunner, type Tx } from '../../platform/database/database.service.js';
import { lockByNames } from '../../platform/database/locks.js';
import { ConcurrentUploadsError, NotFoundError, QuotaExceededError } from '../../platform/errors/errors.js';
import { resourceTime } from '../../platform/http/timestamps.js';
import { type ReleaseSlot, SharedSlots } from '../../platform/rate-limit/shared-slots.js';
import { RedisService } from '../../platform/redis/redis.service.js';
import {
  changeReservation,
  insertReservations,
  type ObjectReservation,
  reservationsOf,
} from '../../platform/storage/object-removals.service.js';
import { countersOf } from './usage-counters/usage-counters.queries.js';

/** What an account has used of the quotas that Postgres counts. */
export interface QuotaUsage {
  storedBytes: number;
  /** Audio accepted in the present month. */
  monthMs: number;
  /** Audio of recordings that are `processing`. */
  queuedMs: number;
}

export interface QuotaOverview extends QuotaUsage {
  concurrentUploads: number;
}

/** What an upload, or a retry, adds. */
export interface QuotaDemand {
  bytes: number;
  /** Milliseconds of audio that count for the month. */
  monthMs: number;
  queuedMs: number;
}

/** Of the audio of an upload that is not stored yet. */
export type AudioAmount = Pick<ObjectReservation, 'bytes' | 'durationMs'>;

interface UploadDemand {
  reservation: ObjectReservation;
  quotas: Quotas;
}

interface Decision {
  refusal: QuotaExceededError | null;
}

/** For how long an account that was seen with room is admitted without another look. */
const RECENT_MS = 2000;
const MAX_ACCOUNTS = 10_000;

/**
 * Compares what an account has used with its quotas (D32). An upload is counted from the reservation of its object on,
 * before anything of it is stored, so that no upload can exceed a quota however long storage takes
 * (docs/decisions/0011).
 */
@Injectable()
export class QuotasService implements OnApplicationShutdown {
  /** Callers that come while a statement is under way share the next one, so that a figure is never older than its call. */
  private readonly readShared: (accountId: string) => Promise<QuotaUsage>;
  /** Uploads that come while a transaction is under way share the next one, and with it a commit. */
  private readonly reserveShared: (upload: UploadDemand) => Promise<Decision>;
  private readonly recent = new LRUCache<string, QuotaUsage>({ max: MAX_ACCOUNTS, ttl: RECENT_MS });
  /** Uploads under way, by account. */
  private readonly slots: SharedSlots;
  private readonly refusals: Counter<'quota'>;

  constructor(
    private readonly database: DatabaseService,
    redis: RedisService,
    registry: Registry,
  ) {
    this.readShared = coalesce<string, QuotaUsage>((accountIds) => readDistinct(database, accountIds));
    this.reserveShared = coalesce<UploadDemand, Decision>((uploads) =>
      database.transact((tx) => reserveFitting(tx, uploads)),
    );
    this.slots = new SharedSlots(redis, 'uploads');
    this.refusals = new Counter({
      name: 'quota_refusals_total',
      help: 'Uploads and retries refused because a quota of the account, or the disk, was full.',
      labelNames: ['quota'],
      registers: [registry],
    });
  }

  /** What the account has used of each quota. */
  async overview(accountId: string): Promise<QuotaOverview> {
    const [usage, concurrentUploads] = await Promise.all([this.usage(accountId), this.slots.count(accountId)]);
    return { ...usage, concurrentUploads };
  }

  /** Takes one of the slots for uploads. @param limit null: unlimited. @throws ConcurrentUploadsError */
  async takeUploadSlot(accountId: string, limit: number | null): Promise<ReleaseSlot> {
    if (limit === null) return () => undefined;
    const slot = await this.slots.take(accountId, limit);
    if (typeof slot === 'function') return slot;
    this.countRefusal('concurrent_uploads');
    throw new ConcurrentUploadsError(limit, slot);
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

  /**
   * Enlarges the reservation of an upload that grows, or begins it. Until `tx` ends the account uses nothing else.
   * @param reserved what is reserved now; zeros at the beginning.
   * @param needs at least this in all, and up to `wants` where there is room.
   * @param given by default the present quotas of the account.
   * @returns what is reserved now. @throws QuotaExceededError
   */
  async grow(
    tx: Tx,
    reserved: ObjectReservation,
    { needs, wants }: { needs: AudioAmount; wants: AudioAmount },
    given?: Quotas,
  ): Promise<ObjectReservation> {
    const { accountId } = reserved;
    const quotas = given ?? (await selectQuotas(tx, accountId));
    let amount = wants;
    if (quotas && countsUsage(quotas)) {
      const usages = await lockUsage(tx, [accountId], monthStart(new Date()));
      const usage = usages.get(accountId) as QuotaUsage;
      const addedMs = needs.durationMs - reserved.durationMs;
      const demand = { bytes: needs.bytes - reserved.bytes, monthMs: addedMs, queuedMs: addedMs };
      this.refuse(refusalOf(quotas, usage, demand, new Date()));
      amount = withinRoom(quotas, usage, reserved, wants);
    }
    const grown = { ...reserved, ...amount };
    await changeReservation(tx, grown);
    return grown;
  }

  /** Whether uploads of the account are counted that are not stored yet. SQL, as in {@link readQuotaUsage}. */
  async hasReservations(accountId: string): Promise<boolean> {
    const sql = `SELECT 1 FROM ${reservationsOf('$1')} AS reservations LIMIT 1`;
    return (await this.database.query(sql, [accountId])).length > 0;
  }

  /** What needs room without an upload. Until `tx` ends the account uses nothing else. @throws QuotaExceededError */
  async enforce(tx: Tx, accountId: string, quotas: Quotas, demand: QuotaDemand): Promise<void> {
    if (!countsUsage(quotas)) return;
    const usages = await lockUsage(tx, [accountId], monthStart(new Date()));
    this.refuse(refusalOf(quotas, usages.get(accountId) as QuotaUsage, demand, new Date()));
  }

  /**
   * Whether the month of an upload has room for audio that was not counted then. One of an earlier month takes nothing of
   * the present one. Until `tx` ends the account uses nothing else.
   */
  async fitsMonth(tx: Tx, accountId: string, createdAt: Date, addedMs: number): Promise<boolean> {
    const month = monthStart(new Date());
    const quotas = monthStart(createdAt) === month ? await selectQuotas(tx, accountId) : null;
    const limit = quotas?.audioSecondsPerMonth ?? null;
    if (limit === null) return true;
    const usages = await lockUsage(tx, [accountId], month);
    return fits(msOf(limit), (usages.get(accountId) as QuotaUsage).monthMs, addedMs);
  }

  /** The quotas of an account that makes no request now. @throws NotFoundError */
  async quotasOf(accountId: string): Promise<Quotas> {
    const quotas = await selectQuotas(this.database, accountId);
    if (!quotas) throw new NotFoundError('account');
    return quotas;
  }

  /** @throws QuotaExceededError unless it is null, and counts it. */
  refuse(refusal: QuotaExceededError | null): void {
    if (!refusal) return;
    this.countRefusal(refusal.quota);
    throw refusal;
  }

  /** Counts an upload or a retry that was refused, by what was full. */
  countRefusal(quota: QuotaName | 'free_disk'): void {
    this.refusals.inc({ quota });
  }

  onApplicationShutdown(): void {
    this.slots.stop();
  }

  private async usage(accountId: string): Promise<QuotaUsage> {
    const usage = await this.readShared(accountId);
    this.recent.set(accountId, usage);
    return usage;
  }
}

/** Whether Postgres has to be asked at all. */
export const countsUsage = ({ storedBytes, audioSecondsPerMonth, queuedAudioSeconds }: Quotas): boolean =>
  storedBytes !== null || audioSecondsPerMonth !== null || queuedAudioSeconds !== null;

/** The first quota that is full, or that `demand` does not fit into. A full quota refuses also what adds nothing. */
export function refusalOf(
  { storedBytes, audioSecondsPerMonth, queuedAudioSeconds }: Quotas,
  usage: QuotaUsage,
  demand: QuotaDemand,
  now: Date,
): QuotaExceededError | null {
  if (!fits(storedBytes, usage.storedBytes, demand.bytes)) {
    return new QuotaExceededError(QUOTA_NAMES.storedBytes, storedBytes, usage.storedBytes, null);
  }
  if (!fits(msOf(audioSecondsPerMonth), usage.monthMs, demand.monthMs)) {
    const resetsAt = quotaResetsAt(now);
    return new QuotaExceededError(
      QUOTA_NAMES.audioSecondsPerMonth,
      audioSecondsPerMonth,
      usage.monthMs / 1000,
      resetsAt,
    );
  }
  if (!fits(msOf(queuedAudioSeconds), usage.queuedMs, demand.queuedMs)) {
    return new QuotaExceededError(QUOTA_NAMES.queuedAudioSeconds, queuedAudioSeconds, usage.queuedMs / 1000, null);
  }
  return null;
}

const msOf = (seconds: number | null): number | null => (seconds === null ? null : seconds * 1000);

function fits(limit: number | null, used: number, added: number): limit is null {
  return limit === null || (used < limit && used + added <= limit);
}

/** As much of what is wanted as fits beside all that is used, of which `reserved` is a part. */
function withinRoom(
  { storedBytes, audioSecondsPerMonth, queuedAudioSeconds }: Quotas,
  usage: QuotaUsage,
  reserved: AudioAmount,
  wants: AudioAmount,
): AudioAmount {
  const roomOf = (limit: number | null, used: number): number => (limit === null ? Infinity : limit - used);
  const roomMs = Math.min(
    roomOf(msOf(audioSecondsPerMonth), usage.monthMs),
    roomOf(msOf(queuedAudioSeconds), usage.queuedMs),
  );
  return {
    bytes: Math.min(wants.bytes, reserved.bytes + roomOf(storedBytes, usage.storedBytes)),
    durationMs: Math.min(wants.durationMs, reserved.durationMs + roomMs),
  };
}

/** First day of the month of `now`, `YYYY-MM-DD`. */
export const monthStart = (now: Date): string => `${now.toISOString().slice(0, 'YYYY-MM'.length)}-01`;

/** When the month's quota is empty again. */
export const quotaResetsAt = (now: Date): string =>
  resourceTime(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)));

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

/** What is used once `demand` was let in. */
export const withDemand = (usage: QuotaUsage, demand: QuotaDemand): QuotaUsage => ({
  storedBytes: usage.storedBytes + demand.bytes,
  monthMs: usage.monthMs + demand.monthMs,
  queuedMs: usage.queuedMs + demand.queuedMs,
});

/** What these accounts use, to which nothing else adds until the transaction ends. */
async function lockUsage(tx: Tx, accountIds: readonly string[], month: string): Promise<Map<string, QuotaUsage>> {
  if (accountIds.length === 0) return new Map();
  await lockQuotas(tx, accountIds);
  const usages = await readQuotaUsage(tx, accountIds, month);
  return new Map(accountIds.map((accountId, i) => [accountId, usages[i] as QuotaUsage]));
}

async function lockQuotas(tx: Tx, accountIds: readonly string[]): Promise<void> {
  const names = accountIds.map((accountId) => `quotas:${accountId}`);
  await lockByNames(tx, names);
}

/**
 * The LIMIT, the number of accounts, leaves nothing out. It makes Postgres keep the plan: 180 instead of 390 µs for one
 * account. Held by queries.e2e.ts.
 */
const USAGE = `
  SELECT a.position::int, u."storedBytes" + r.bytes AS "storedBytes", u."queuedMs" + r.ms AS "queuedMs",
    u."monthMs" + r.ms AS "monthMs"
  FROM (SELECT * FROM unnest($1::uuid[]) WITH ORDINALITY AS ids (id, position) LIMIT $3) a CROSS JOIN LATERAL (
    SELECT coalesce(sum(bytes), 0)::float8 AS "storedBytes", coalesce(sum(queued_ms), 0)::float8 AS "queuedMs",
      coalesce(sum(duration_ms) FILTER (WHERE day >= $2::date), 0)::float8 AS "monthMs"
    FROM ${countersOf('a.id')} AS counters) u CROSS JOIN LATERAL (
    SELECT coalesce(sum(bytes), 0)::float8 AS bytes, coalesce(sum(duration_ms), 0)::float8 AS ms
    FROM ${reservationsOf('a.id')} AS reservations) r`;

/**
 * What each account has stored and queued, with the uploads that it has reserved: one answer for each, in their order.
 * SQL, because counters, deltas and reservations are added in one snapshot and many accounts are looked up by one
 * statement.
 */
export async function readQuotaUsage(
  runner: SqlRunner,
  accountIds: readonly string[],
  month: string,
): Promise<QuotaUsage[]> {
  const rows = await runner.prepared<QuotaUsage & { position: number }>(USAGE, [accountIds, month, accountIds.length]);
  return rows
    .toSorted((a, b) => a.position - b.position)
    .map(({ storedBytes, monthMs, queuedMs }) => ({ storedBytes, monthMs, queuedMs }));
}

/** Null when there is no such account. SQL, because the table belongs to another module. */
async function selectQuotas(runner: SqlRunner, accountId: string): Promise<Quotas | null> {
  const [account] = await runner.query<{ plan: string; quotas: Partial<Quotas>; isTest: boolean }>(
    'SELECT plan, quotas, test_of IS NOT NULL AS "isTest" FROM accounts WHERE id = $1',
    [accountId],
  );
  if (!account) return null;
  return account.isTest ? testQuotasOf(account.plan) : quotasOf(account.plan, account.quotas);
}
