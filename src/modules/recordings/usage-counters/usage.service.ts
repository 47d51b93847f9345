import { Injectable } from '@nestjs/common';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { sumUsage, type UsagePeriod } from './usage-counters.queries.js';

export type { UsagePeriod };

/** What an account has used, month by month. */
@Injectable()
export class UsageService {
  constructor(private readonly database: DatabaseService) {}

  /** Usage of the UTC month of `now`, and of the month before. */
  async ofMonths(accountId: string, now: Date): Promise<[UsagePeriod, UsagePeriod]> {
    const firstDay = (monthsAhead: number): string =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + monthsAhead, 1)).toISOString().slice(0, 10);
    const months = { from: firstDay(-1), middle: firstDay(0), end: firstDay(1) };
    const rows = await sumUsage(this.database, accountId, months);
    const usage = (isLater: boolean): UsagePeriod =>
      rows.find((row) => row.isLater === isLater) ?? { recordings: 0, durationMs: 0, bytes: 0 };
    return [usage(true), usage(false)];
  }
}
