import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Registry } from 'prom-client';
import { NIL } from 'uuid';
import { planOf, QUOTA_NAMES, type Quotas, quotasOf } from '../../access/plans.js';
import { DatabaseService, type SqlRunner } from '../../platform/database/database.service.js';
import { addLabelledGauge, type LabelledValue } from '../../platform/observability/metrics.js';
import { ReconcilerService } from '../../platform/queue/reconciler.service.js';
import { monthStart, type QuotaUsage, readQuotaUsage } from './quotas.service.js';

/** Percent of a quota, from which on an account is counted. */
const LEVELS = [80, 95, 100];
/** Accounts of one statement. */
const BATCH = 100;
/** A round of the reconciler begins no further batch after this time. */
const ROUND_MS = 200;
/** Between the beginnings of two walks. */
const WALK_MS = 60_000;
/** After so long without the end of a walk the figures are too old to be shown. */
const KEPT_MS = 3_600_000;

const USED: Record<Exclude<keyof Quotas, 'concurrentUploads'>, (usage: QuotaUsage) => number> = {
  storedBytes: ({ storedBytes }) => storedBytes,
  audioSecondsPerMonth: ({ monthMs }) => monthMs / 1000,
  queuedAudioSeconds: ({ queuedMs }) => queuedMs / 1000,
};
const COUNTED = Object.keys(USED) as (keyof typeof USED)[];

interface AccountQuotas {
  id: string;
  plan: string;
  quotas: Partial<Quotas>;
}

/**
 * Counts the accounts that are near the end of a quota. It walks through them in the rounds of the reconciler, a few hundred
 * at a time, because the figures of all accounts together are too many rows for one statement.
 */
@Injectable()
export class QuotaMetricsService implements OnModuleInit {
  private afterId: string = NIL;
  private walkBegunAt = -Infinity;
  private counts = new Map<string, LabelledValue>();
  /** Of the last walk that came to the end. */
  private walked: { at: number; values: LabelledValue[] } | null = null;

  constructor(
    private readonly database: DatabaseService,
    private readonly reconciler: ReconcilerService,
    private readonly registry: Registry,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('count accounts near a quota', () => this.walk());
    const help = 'Accounts that have used at least so many percent of a quota, by plan and quota (D32).';
    const gauge = { name: 'accounts_near_quota', help, labelNames: ['plan', 'quota', 'percent'] };
    addLabelledGauge(this.registry, gauge, async () => this.current);
  }

  private get current(): LabelledValue[] | null {
    return this.walked && performance.now() - this.walked.at < KEPT_MS ? this.walked.values : null;
  }

  /** Goes on with the walk, or begins one that is due. */
  async walk(): Promise<void> {
    const now = performance.now();
    if (this.afterId === NIL) {
      if (now - this.walkBegunAt < WALK_MS) return;
      this.walkBegunAt = now;
      this.counts = new Map();
    }
    let accounts: AccountQuotas[];
    do {
      accounts = await selectAccounts(this.database, this.afterId, BATCH);
      await this.count(accounts);
      this.afterId = accounts.at(-1)?.id ?? this.afterId;
    } while (accounts.length === BATCH && performance.now() - now < ROUND_MS);
    if (accounts.length === BATCH) return;
    this.afterId = NIL;
    this.walked = { at: performance.now(), values: [...this.counts.values()] };
  }

  private async count(accounts: readonly AccountQuotas[]): Promise<void> {
    const ids = accounts.map(({ id }) => id);
    const usages = await readQuotaUsage(this.database, ids, monthStart(new Date()));
    for (const [i, { plan, quotas }] of accounts.entries()) {
      const limits = quotasOf(plan, quotas);
      for (const quota of COUNTED) {
        const limit = limits[quota];
        if (limit === null) continue;
        const used = USED[quota](usages[i] as QuotaUsage);
        for (const level of LEVELS) {
          // With a zero, so that a plan without such accounts has a figure.
          const counted = this.countOf(planOf(plan).name, QUOTA_NAMES[quota], level);
          if (used * 100 >= limit * level) counted.value += 1;
        }
      }
    }
  }

  private countOf(plan: string, quota: string, level: number): LabelledValue {
    const key = `${plan} ${quota} ${level}`;
    const known = this.counts.get(key);
    if (known) return known;
    const made = { labels: { plan, quota, percent: `${level}` }, value: 0 };
    this.counts.set(key, made);
    return made;
  }
}

/** Test accounts have no quotas that anybody pays for. SQL, because the table belongs to another module. */
async function selectAccounts(runner: SqlRunner, afterId: string, count: number): Promise<AccountQuotas[]> {
  return await runner.query<AccountQuotas>(
    `SELECT id, plan, quotas FROM accounts WHERE id > $1 AND test_of IS NULL AND status = 'active' ORDER BY id LIMIT $2`,
    [afterId, count],
  );
}
