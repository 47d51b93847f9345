import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Registry } from 'prom-client';
import { sharedRun } from '../concurrency/shared-run.js';
import { DatabaseService } from '../database/database.service.js';
import { RedisService } from '../redis/redis.service.js';
import { StorageKeysService } from '../storage/encryption/storage-keys.service.js';
import { ObjectStore } from '../storage/object-store.js';
import { addLabelledGauge } from './metrics.js';

/** `degraded`: it works without something, such as Redis. `checks` holds `ok`, or the problem and its remedy. */
export interface HealthReport {
  status: 'ok' | 'degraded' | 'unavailable';
  checks?: Record<string, string>;
}

/** Resolves to null, or to the problem in words for an operator. */
type Check = () => Promise<string | null>;

const TIMEOUT_MS = 2000;
const STATUS_KEPT_MS = 1000;
/** Of the report for metrics: a scrape costs no more than a probe, however many scrape. */
const METRICS_KEPT_MS = 5000;

/** Readiness of this process (D31). Modules add what they need. */
@Injectable()
export class HealthService {
  /** For the operator: as it is now. */
  readonly report = sharedRun(() => this.build());
  /** For everybody: the status, at most a second old, however many ask. */
  readonly status = sharedRun(async () => (await this.report()).status, STATUS_KEPT_MS);
  private readonly checks = new Map<string, Check>();
  private readonly notices = new Map<string, Check>();

  constructor(
    database: DatabaseService,
    store: ObjectStore,
    private readonly redis: RedisService,
    registry: Registry,
    keys: StorageKeysService,
  ) {
    this.require('postgres', () => database.query('SELECT 1').then(() => null));
    this.require('storage', () => store.check().then(() => null));
    // Not required: audio whose keys are in memory is served without it.
    this.notice('keys', () => keys.problem());
    const help = '1 for each check of readiness that finds no problem, else 0.';
    const read = sharedRun(() => this.report(), METRICS_KEPT_MS);
    const gauge = { name: 'health_check', help, labelNames: ['check'] };
    addLabelledGauge(registry, gauge, async () =>
      Object.entries((await read()).checks ?? {}).map(([check, said]) => ({
        labels: { check },
        value: said === 'ok' ? 1 : 0,
      })),
    );
  }

  /** Makes the process not ready while `check` reports a problem. */
  require(name: string, check: Check): void {
    this.checks.set(name, check);
  }

  /** Makes the process degraded while `check` reports a problem. It is listed only then. */
  notice(name: string, check: Check): void {
    this.notices.set(name, check);
  }

  private async build(): Promise<HealthReport> {
    const required = await askAll(this.checks);
    const redis = await this.redis.isUsable();
    const noticed = (await askAll(this.notices)).filter(([, problem]) => problem !== null);
    const said = [...required, ...noticed].map(([name, problem]) => [name, problem ?? 'ok']);
    const checks = {
      ...(Object.fromEntries(said) as Record<string, string>),
      redis: redis ? 'ok' : 'Redis is unavailable; limiting per process. Jobs start with a delay.',
    };
    if (required.some(([, problem]) => problem !== null)) return { status: 'unavailable', checks };
    return { status: redis && noticed.length === 0 ? 'ok' : 'degraded', checks };
  }
}

async function askAll(checks: ReadonlyMap<string, Check>): Promise<[name: string, problem: string | null][]> {
  return await Promise.all([...checks].map(async ([name, check]) => [name, await ask(check)]));
}

async function ask(check: Check): Promise<string | null> {
  const timeout = delay(TIMEOUT_MS, `no answer within ${TIMEOUT_MS} ms`, { ref: false });
  return await Promise.race([check().catch((error: unknown) => (error as Error).message), timeout]);
}
