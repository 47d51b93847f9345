import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { DatabaseService } from '../database/database.service.js';
import { RedisService } from '../queue/redis.service.js';
import { ObjectStore } from '../storage/object-store.js';

/** `degraded`: serves, but slower or with less. `checks` gives `ok`, or what is wrong and how to mend it. */
export interface HealthReport {
  status: 'ok' | 'degraded' | 'unavailable';
  checks?: Record<string, string>;
}

/** Null when all is well, otherwise what is wrong, for an operator. */
type Check = () => Promise<string | null>;

const TIMEOUT_MS = 2000;

/** Whether this process can do its role's work (D31). Rooms add what they cannot work without. */
@Injectable()
export class HealthService {
  private readonly checks = new Map<string, Check>();

  constructor(
    database: DatabaseService,
    store: ObjectStore,
    private readonly redis: RedisService,
  ) {
    this.require('postgres', () => database.query('SELECT 1').then(() => null));
    this.require('storage', () => store.check().then(() => null));
  }

  /** Without it this process is not ready. */
  require(name: string, check: Check): void {
    this.checks.set(name, check);
  }

  async report(): Promise<HealthReport> {
    const names = [...this.checks.keys()];
    const problems = await Promise.all([...this.checks.values()].map(ask));
    const redis = await this.redis.ping();
    const checks = Object.fromEntries(names.map((name, i) => [name, problems[i] ?? 'ok']));
    checks.redis = redis
      ? 'ok'
      : 'Redis is out of reach: limits are kept in the process, work waits for the reconciler.';
    const ready = problems.every((problem) => problem === null);
    return { status: ready ? (redis ? 'ok' : 'degraded') : 'unavailable', checks };
  }
}

async function ask(check: Check): Promise<string | null> {
  const tooLate = delay(TIMEOUT_MS, `no answer within ${TIMEOUT_MS} ms`, { ref: false });
  return await Promise.race([check().catch((error: unknown) => (error as Error).message), tooLate]);
}
