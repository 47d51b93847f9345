import { QUOTA_NAMES, type Quotas } from '../../../access/plans.js';
import { QuotaExceededError } from '../../../platform/errors/errors.js';
import { resourceTime } from '../../../platform/http/timestamps.js';

/** What an account has used of the quotas that Postgres counts. */
export interface QuotaUsage {
  storedBytes: number;
  /** Audio accepted in the present month. */
  monthMs: number;
  /** Audio of recordings that are `processing`. */
  queuedMs: number;
}

/** What an upload, or a retry, adds. */
export interface QuotaDemand {
  bytes: number;
  /** Milliseconds of audio that count for the month. */
  monthMs: number;
  queuedMs: number;
}

const msOf = (seconds: number | null): number | null => (seconds === null ? null : seconds * 1000);

/** Whether Postgres has to be asked at all. */
export const countsUsage = ({ storedBytes, audioSecondsPerMonth, queuedAudioSeconds }: Quotas): boolean =>
  storedBytes !== null || audioSecondsPerMonth !== null || queuedAudioSeconds !== null;

/** The first quota that is full, or that `demand` does not fit into. A full quota refuses also what adds nothing. */
export function refusalOf(
  quotas: Quotas,
  usage: QuotaUsage,
  demand: QuotaDemand,
  now: Date,
): QuotaExceededError | null {
  if (!fits(quotas.storedBytes, usage.storedBytes, demand.bytes)) {
    return new QuotaExceededError(QUOTA_NAMES.storedBytes, quotas.storedBytes, usage.storedBytes, null);
  }
  if (!fits(msOf(quotas.audioSecondsPerMonth), usage.monthMs, demand.monthMs)) {
    const { audioSecondsPerMonth: limit } = quotas;
    return new QuotaExceededError(QUOTA_NAMES.audioSecondsPerMonth, limit, usage.monthMs / 1000, monthEnd(now));
  }
  if (!fits(msOf(quotas.queuedAudioSeconds), usage.queuedMs, demand.queuedMs)) {
    return new QuotaExceededError(
      QUOTA_NAMES.queuedAudioSeconds,
      quotas.queuedAudioSeconds,
      usage.queuedMs / 1000,
      null,
    );
  }
  return null;
}

function fits(limit: number | null, used: number, added: number): limit is null {
  return limit === null || (used < limit && used + added <= limit);
}

/** What is used once `demand` was let in. */
export const withDemand = (usage: QuotaUsage, demand: QuotaDemand): QuotaUsage => ({
  storedBytes: usage.storedBytes + demand.bytes,
  monthMs: usage.monthMs + demand.monthMs,
  queuedMs: usage.queuedMs + demand.queuedMs,
});

/** First day of the month of `now`, `YYYY-MM-DD`. */
export const monthStart = (now: Date): string => `${now.toISOString().slice(0, 'YYYY-MM'.length)}-01`;

/** When the month's quota is empty again. */
export const monthEnd = (now: Date): string =>
  resourceTime(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)));
