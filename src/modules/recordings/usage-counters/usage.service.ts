import { Injectable } from '@nestjs/common';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { sumUsage, type UsagePeriod } from './usage-counters.queries.js';

export type { UsagePeriod };

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
}
