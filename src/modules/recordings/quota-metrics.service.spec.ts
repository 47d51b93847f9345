import { Registry } from 'prom-client';
import type { Quotas } from '../../access/plans.js';
import type { DatabaseService } from '../../platform/database/database.service.js';
import type { ReconcilerService } from '../../platform/queue/reconciler.service.js';
import { QuotaMetricsService } from './quota-metrics.service.js';

interface Account {
  plan: string;
  quotas?: Partial<Quotas>;
  storedBytes?: number;
  monthMs?: number;
  queuedMs?: number;
}

describe('QuotaMetricsService', () => {
  let accounts: Account[];
  let registry: Registry;
  let walk: () => Promise<void>;
  /** Milliseconds. */
  let clock: number;
  /** What a statement takes. */
  let statementMs: number;
  let statements: number;

  beforeEach(() => {
    [accounts, registry, clock, statementMs, statements] = [[], new Registry(), 0, 0, 0];
    jest.spyOn(performance, 'now').mockImplementation(() => clock);
    const database = {
      query: async (_: string, [after, count]: [string, number]) => {
        statements += 1;
        clock += statementMs;
        const from = after.startsWith('0000') ? 0 : Number(after) + 1;
        return accounts
          .slice(from, from + count)
          .map(({ plan, quotas = {} }, i) => ({ id: `${from + i}`, plan, quotas }));
      },
      prepared: async (_: string, [ids]: [string[]]) =>
        ids.map((id, position) => ({ position, storedBytes: 0, monthMs: 0, queuedMs: 0, ...accounts[Number(id)] })),
    };
    const reconciler = { register: (_: string, run: () => Promise<void>) => (walk = run) };
    new QuotaMetricsService(
      database as unknown as DatabaseService,
      reconciler as unknown as ReconcilerService,
      registry,
    ).onModuleInit();
  });
  afterEach(() => jest.restoreAllMocks());

  const figures = async () =>
    Object.fromEntries(
      (await registry.metrics()).split('\n').flatMap((line) => {
        const [, plan, quota, percent, value] = /plan="(.*)",quota="(.*)",percent="(.*)"} (.*)/.exec(line) ?? [];
        return plan ? [[`${plan} ${quota} ${percent}`, Number(value)]] : [];
      }),
    ) as Record<string, number>;
  const HOUR = 3_600_000;

  it('counts by plan and quota who has used at least 80, 95 and 100 %', async () => {
    accounts = [
      { plan: 'free', monthMs: 7.99 * HOUR },
      { plan: 'free', monthMs: 8 * HOUR },
      { plan: 'free', monthMs: 9.6 * HOUR, storedBytes: 2 ** 30 },
      { plan: 'free', monthMs: 8 * HOUR, quotas: { audioSecondsPerMonth: 7 * 3600 } },
      { plan: 'enterprise', monthMs: 1e6 * HOUR, queuedMs: 80 * HOUR },
    ];
    expect(await figures()).toEqual({});
    await walk();
    expect(await figures()).toEqual({
      'free audio_seconds_per_month 80': 3,
      'free audio_seconds_per_month 95': 2,
      'free audio_seconds_per_month 100': 1,
      'free stored_bytes 80': 1,
      'free stored_bytes 95': 1,
      'free stored_bytes 100': 1,
      'free queued_audio_seconds 80': 0,
      'free queued_audio_seconds 95': 0,
      'free queued_audio_seconds 100': 0,
      'enterprise queued_audio_seconds 80': 1,
      'enterprise queued_audio_seconds 95': 0,
      'enterprise queued_audio_seconds 100': 0,
    });
  });

  it('walks 200 ms a round, shows nothing before the end, and begins anew after a minute', async () => {
    accounts = Array.from({ length: 350 }, () => ({ plan: 'free', monthMs: 10 * HOUR }));
    statementMs = 100;
    await walk();
    expect([statements, await figures()]).toEqual([2, {}]);
    await walk();
    expect((await figures())['free audio_seconds_per_month 100']).toBe(350);
    expect(statements).toBe(4);
    await walk();
    expect(statements).toBe(4);
    clock += 60_000;
    accounts = [];
    await walk();
    expect(await figures()).toEqual({});
    expect(statements).toBe(5);
  });

  it('shows no figures that are older than an hour', async () => {
    accounts = [{ plan: 'free' }];
    await walk();
    expect(await figures()).not.toEqual({});
    clock += 3_600_000;
    expect(await figures()).toEqual({});
  });
});
