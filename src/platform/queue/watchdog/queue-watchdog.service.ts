import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy, Optional } from '@nestjs/common';
import type { Queue } from 'bull';
import { Env } from '../../config/env.js';
import { RedisService } from '../../redis/redis.service.js';

interface Watched {
  queue: Queue;
  isBusy: () => boolean;
  /** Checks in a row that found jobs waiting and none taken. Counted, because a frozen process makes no checks. */
  idleChecks: number;
}

export interface WatchdogOptions {
  checkMs: number;
  stalledMs: number;
  exit: () => void;
}

const DEFAULTS: WatchdogOptions = {
  checkMs: 10_000,
  stalledMs: 60_000,
  exit: () => {
    process.exitCode = 1;
    process.kill(process.pid, 'SIGTERM');
  },
};

/**
 * Ends the process when a Bull consumer stalls: connected and idle, but taking none of the waiting jobs. Only a new
 * process has been seen to help. This one shuts down in order with exit code 1, and its supervisor must restart it.
 * No work is lost, because Postgres is the record.
 */
@Injectable()
export class QueueWatchdogService implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(QueueWatchdogService.name);
  private readonly options: WatchdogOptions;
  private readonly watched: Watched[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly env: Env,
    private readonly redis: RedisService,
    @Optional() options?: Partial<WatchdogOptions>,
  ) {
    this.options = { ...DEFAULTS, ...options };
  }

  /** @param isBusy whether this process already works on as many jobs as it may, so that others have to wait. */
  watch(queue: Queue, isBusy: () => boolean): void {
    const watched = { queue, isBusy, idleChecks: 0 };
    queue.on('active', () => {
      watched.idleChecks = 0;
    });
    this.watched.push(watched);
  }

  onApplicationBootstrap(): void {
    if (this.env.roles.every((role) => role === 'api')) return;
    this.timer = setInterval(() => void this.check(), this.options.checkMs);
    this.timer.unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  private async check(): Promise<void> {
    const { checkMs, stalledMs } = this.options;
    for (const watched of this.watched) {
      const { queue, isBusy } = watched;
      const waiting = await this.redis.tryCommand(() => queue.getWaitingCount());
      // Null without Redis, when no consumer can take a job.
      if (!waiting || isBusy()) watched.idleChecks = 0;
      else if (++watched.idleChecks * checkMs > stalledMs) return this.exit(queue.name, waiting);
    }
  }

  private exit(queue: string, waiting: number): void {
    clearInterval(this.timer);
    this.logger.fatal({ queue, waiting }, 'queue consumer stalled; exiting');
    this.options.exit();
  }
}
