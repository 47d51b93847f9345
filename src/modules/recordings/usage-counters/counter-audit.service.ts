import { Injectable } from '@nestjs/common';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { lockByName } from '../../../platform/database/locks.js';
import { type BreakdownDifference, correctBreakdowns, selectBreakdownDifferences } from './breakdown-audit.queries.js';
import { type CounterDifference, insertCorrections, selectDifferences } from './counter-audit.queries.js';

export type { BreakdownDifference, CounterDifference };

/** Compares the usage counters with the recordings, and corrects them, while the service goes on. */
@Injectable()
export class CounterAuditService {
  constructor(private readonly database: DatabaseService) {}

  async differences(accountId: string): Promise<CounterDifference[]> {
    return await selectDifferences(this.database, accountId);
  }

  /** Differences in the figures of API keys and end users. */
  async breakdownDifferences(accountId: string): Promise<BreakdownDifference[]> {
    return await selectBreakdownDifferences(this.database, accountId);
  }

  /** @returns how many days were corrected. */
  async rebuild(accountId: string): Promise<number> {
    return await this.database.transact(async (tx) => {
      await lockByName(tx, `rebuild counters:${accountId}`);
      const corrected = await insertCorrections(tx, accountId);
      // After the corrections above, which count for no key and no end user.
      corrected.push(...(await correctBreakdowns(tx, accountId)));
      return new Set(corrected.map(({ day }) => day)).size;
    });
  }
}
