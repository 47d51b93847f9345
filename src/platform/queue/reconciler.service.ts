import { hash } from 'node:crypto';
import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import type { QueryRunner } from 'typeorm';
import { Env } from '../config/env.js';
import { DatabaseService } from '../database/database.service.js';
import { type Repair, repairsOf, addGauge } from '../observability/metrics.js';
import { RedisService } from '../redis/redis.service.js';

interface TaskOptions {
  /** It runs in every process without the lock, as tasks on local files do. */
  everyProcess?: boolean;
  /** What it repairs, if it resolves to how many it has repaired. */
  repairs?: Repair;
}

interface ReconcilerTask extends TaskOptions {
  name: string;
  run: () => Promise<number | void>;
}

/**
 * A process that freezes or loses its network keeps its transaction and with it the lock. Postgres ends it after this
 * many rounds without a statement.
 */
const IDLE_ROUNDS = 6;

/** Number of the advisory lock: arbitrary, the same in all processes. */
const RECONCILER_LOCK = 7_305_119;

/** Of the time between two rounds: the timer of the process that had the last one may be early. */
const TURN_SHARE = 0.8;

/** A task that takes longer, such as a clean-up of much, goes on beside the others, which do not wait for it any more. */
const TURN_MS = 1000;

/**
 * Repairs what crashes and lost jobs left behind, from the tables alone. Tasks run one after another every
 * RECONCILE_SECONDS, in one deliverer at a time: a transcriber, which reads strangers' audio, must not be able to delete what
 * others have. A task of a process that has lost the lock meanwhile may still run: each of them is right also when two run at
 * the same time.
 */
@Injectable()
export class ReconcilerService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(ReconcilerService.name);
  private readonly tasks: ReconcilerTask[] = [];
  private timer: NodeJS.Timeout | undefined;
  private round: Promise<void> = Promise.resolve();
  /** Tasks that have not ended, those of earlier rounds too. */
  private readonly running = new Map<ReconcilerTask, Promise<void>>();
  private stopped = false;
  private readonly repairs: Counter<'kind'>;
  private readonly failures: Counter<'task'>;
  /** The end of the last round with the lock, in seconds since 1970. */
  private lastRoundAt: number | null = null;

  constructor(
    private readonly env: Env,
    private readonly database: DatabaseService,
    private readonly redis: RedisService,
    registry: Registry,
  ) {
    this.repairs = repairsOf(registry);
    const registers = [registry];
    const failures = 'Tasks of the reconciler that failed, by task; the next round repeats them.';
    this.failures = new Counter({
      name: 'reconciler_task_failures_total',
      help: failures,
      labelNames: ['task'],
      registers,
    });
    const last = 'When this process last ended a round of the reconciler, in seconds since 1970.';
    addGauge(registry, 'reconciler_last_round_timestamp_seconds', last, () => this.lastRoundAt);
  }

  register(name: string, run: () => Promise<number | void>, options: TaskOptions = {}): void {
    this.tasks.push({ name, run, ...options });
  }

  onApplicationBootstrap(): void {
    // A process without a role is a command and ends soon.
    if (this.env.roles.length > 0 && this.env.reconcileSeconds > 0) this.schedule(0);
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.round;
    await Promise.all(this.running.values());
  }

  private schedule(delayMs: number): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      this.round = this.runAll().finally(() => this.schedule(this.env.reconcileSeconds * 1000));
    }, delayMs);
  }

  private async runAll(): Promise<void> {
    await this.run(this.tasks.filter((task) => task.everyProcess));
    if (!this.env.roles.includes('deliverer')) return;
    try {
      await this.underLock(async () => {
        await this.run(this.tasks.filter((task) => !task.everyProcess));
        this.lastRoundAt = Date.now() / 1000;
      });
    } catch (error) {
      this.logger.warn({ err: error }, 'reconciler could not reach the database');
    }
  }

  /** A task that fails, or takes long, does not stop the others; it runs again in the next round after its end. */
  private async run(tasks: ReconcilerTask[]): Promise<void> {
    for (const task of tasks) {
      if (this.stopped) return;
      if (!this.running.has(task)) await withinTurn(this.start(task));
    }
  }

  private start(task: ReconcilerTask): Promise<void> {
    const ended = this.perform(task).finally(() => this.running.delete(task));
    this.running.set(task, ended);
    return ended;
  }

  private async perform({ name, run, repairs }: ReconcilerTask): Promise<void> {
    try {
      const count = await run();
      if (repairs && count) this.repairs.inc({ kind: repairs }, count);
    } catch (error) {
      this.failures.inc({ task: name });
      this.logger.warn({ err: error, task: name }, 'reconciler task failed');
    }
  }

  /**
   * Whether no deliverer has begun a round just now. The lock keeps two from working at once, and does not keep each of a
   * hundred from doing all of it in every interval. Redis may forget a turn: a round too many does no harm. Deliverers with other
   * tasks, as those of another release, have turns of their own.
   */
  private async takeTurn(): Promise<boolean> {
    const tasks = hash('sha256', this.tasks.map(({ name }) => name).join(), 'base64url');
    const ms = Math.floor(this.env.reconcileSeconds * 1000 * TURN_SHARE);
    const taken = await this.redis.tryCommand(async (client) => [
      await client.set(`reconciler:${tasks}:{bull}`, '1', 'PX', ms, 'NX'),
    ]);
    return taken === null || taken[0] === 'OK';
  }

  private async underLock(work: () => Promise<void>): Promise<void> {
    const holder = this.database.dataSource.createQueryRunner();
    try {
      await holder.startTransaction();
      const held = await tryReconcilerLock(holder, IDLE_ROUNDS * this.env.reconcileSeconds);
      if (held && (await this.takeTurn())) await work();
      await holder.commitTransaction();
    } catch (error) {
      await holder.rollbackTransaction().catch(() => undefined);
      throw error;
    } finally {
      await holder.release();
    }
  }
}

async function withinTurn(ended: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const turn = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, TURN_MS);
  });
  await Promise.race([ended, turn]);
  clearTimeout(timer);
}

/**
 * Tries to take the reconciler's lock for the transaction of `runner`. A lock of the transaction and not of the session,
 * which a pooler gives to others. Postgres ends the transaction after `idleSeconds` without a statement; one statement sets
 * that and takes the lock, because a process may freeze between two.
 * @returns whether the transaction now holds it. SQL because TypeORM has no advisory locks.
 */
async function tryReconcilerLock(runner: QueryRunner, idleSeconds: number): Promise<boolean> {
  const [answer] = (await runner.query(
    `SELECT set_config('idle_in_transaction_session_timeout', $2, true), pg_try_advisory_xact_lock($1) AS held`,
    [RECONCILER_LOCK, `${idleSeconds}s`],
  )) as [{ held: boolean }];
  return answer.held;
}

/** So that one task of the reconciler does not keep the others waiting. */
const MAX_ROUNDS = 50;

/**
 * Repeats a statement with a LIMIT while it changes as many rows as it may.
 * @returns whether nothing is left.
 */
export async function repeatWhileFull(limit: number, change: () => Promise<number>): Promise<boolean> {
  for (let round = 0; round < MAX_ROUNDS; round++) if ((await change()) < limit) return true;
  return false;
}
