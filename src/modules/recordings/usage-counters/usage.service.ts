import { Injectable } from '@nestjs/common';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { sumUsageByDay, sumUsageByDimension, type UsageItem } from './usage-breakdown.queries.js';
import type { UsageDimension } from './usage-counters.entities.js';
import { sumUsage, type UsagePeriod } from './usage-counters.queries.js';

export type { UsageItem, UsagePeriod };

const DAY_MS = 86_400_000;

/** The last day is the present one (UTC). */
export interface UsageReportOptions {
  days: number;
  by: 'day' | UsageDimension;
  /** Most keys or end users. */
  limit: number;
  /** The last value of the page before; null for the first page. */
  after: string | null;
}

export interface UsageReport {
  /** `YYYY-MM-DD`, both inclusive. */
  from: string;
  to: string;
  items: UsageItem[];
  /** What the next page comes after; null on the last page. */
  next: string | null;
}

/** What an account has used, month by month. */
@Injectable()
export class UsageService {
  constructor(private readonly database: DatabaseService) {}

  /** Usage of the UTC month of `now`, and of the month before, for each account in order. */
  async ofMonths(accountIds: readonly string[], now: Date): Promise<[UsagePeriod, UsagePeriod][]> {
    const firstDay = (monthsAhead: number): string =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + monthsAhead, 1)).toISOString().slice(0, 10);
    const months = { from: firstDay(-1), middle: firstDay(0), end: firstDay(1) };
    const rows = new Map<string, UsagePeriod>();
    for (const { accountId, isLater, ...period } of await sumUsage(this.database, accountIds, months)) {
      rows.set(`${accountId} ${isLater}`, period);
    }
    const usage = (accountId: string, isLater: boolean): UsagePeriod =>
      rows.get(`${accountId} ${isLater}`) ?? { recordings: 0, durationMs: 0, bytes: 0 };
    return accountIds.map((accountId) => [usage(accountId, true), usage(accountId, false)]);
  }

  /** Usage of the recordings that were created on the last days, by day, key or end user. */
  async report(accountId: string, { days, by, limit, after }: UsageReportOptions, now: Date): Promise<UsageReport> {
    const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);
    const range = { from: dayOf(now.getTime() - (days - 1) * DAY_MS), to: dayOf(now.getTime()) };
    if (by === 'day') {
      return { ...range, items: await sumUsageByDay(this.database, accountId, range), next: null };
    }
    const found = await sumUsageByDimension(this.database, accountId, by, { ...range, after, limit: limit + 1 });
    const page = found.slice(0, limit);
    const next = found.length > limit ? (page.at(-1)?.value ?? null) : null;
    return { ...range, items: page.filter(({ recordings, bytes }) => recordings !== 0 || bytes !== 0), next };
  }
}
