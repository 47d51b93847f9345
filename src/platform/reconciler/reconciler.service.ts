import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Env } from '../config/env.js';
import { DatabaseService } from '../database/database.service.js';
import { tryReconcilerLock } from './reconciler.queries.js';

interface ReconcilerTask {
  name: string;
  run: () => Promise<void>;
  everyProcess: boolean;
}

/**
 * A process that freezes or loses its network keeps its transaction and with it the lock. Postgres ends it after this
 * many rounds without a statement.
 */
const IDLE_ROUNDS = 6;

/**
 * Repairs what crashes and lost jobs left behind, from the tables alone. Tasks run one after another every
 * RECONCILE_SECONDS, in one worker process at a time. Every worker registers all tasks.
 */
@Injectable()
export class ReconcilerService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(ReconcilerService.name);
  private readonly tasks: ReconcilerTask[] = [];
  private timer: NodeJS.Timeout | undefined;
  private round: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(
    private readonly env: Env,
    private readonly database: DatabaseService,
  ) {}

  /** @param options.everyProcess runs in every process without the lock, for tasks on local files. */
  register(name: string, run: () => Promise<void>, options = { everyProcess: false }): void {
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
  }

  private schedule(delayMs: number): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      this.round = this.runAll().finally(() => this.schedule(this.env.reconcileSeconds * 1000));
    }, delayMs);
  }

  private async runAll(): Promise<void> {
    await this.run(this.tasks.filter((task) => task.everyProcess));
    if (this.env.roles.every((role) => role === 'api')) return;
    try {
      await this.underLock(() => this.run(this.tasks.filter((task) => !task.everyProcess)));
    } catch (error) {
      this.logger.warn({ err: error }, 'reconciler could not reach the database');
    }
  }

  /** A failed task does not stop the others; it runs again in the next round. */
  private async run(tasks: ReconcilerTask[]): Promise<void> {
    for (const task of tasks) {
      if (this.stopped) return;
      await task.run().catch((error: unknown) => {
        this.logger.warn({ err: error, task: task.name }, 'reconciler task failed');
      });
    }
  }

  private async underLock(work: () => Promise<void>): Promise<void> {
    const holder = this.database.dataSource.createQueryRunner();
    try {
      await holder.startTransaction();
      if (await tryReconcilerLock(holder, IDLE_ROUNDS * this.env.reconcileSeconds)) await work();
      await holder.commitTransaction();
    } catch (error) {
      await holder.rollbackTransaction().catch(() => undefined);
      throw error;
    } finally {
      await holder.release();
    }
  }
}
