import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy, Optional } from '@nestjs/common';
import type { Queue } from 'bull';
import { Env } from '../config/env.js';
import { RedisService } from './redis.service.js';

interface Watched {
  queue: Queue;
  isBusy: () => boolean;
  /** Checks in a row that found jobs waiting and none taken: a process that was frozen has not failed to hear. */
  silentChecks: number;
}

export interface WatchdogOptions {
  checkMs: number;
  deafMs: number;
  giveUp: () => void;
}

const DEFAULTS: WatchdogOptions = {
  checkMs: 10_000,
  deafMs: 60_000,
  giveUp: () => {
    process.exitCode = 1;
    process.kill(process.pid, 'SIGTERM');
  },
};

/**
 * Bull has been seen to go deaf: connected, idle, and taking no job although there are some. Nothing that can be asked
 * of it then helps but a new process: this one stops in order, with exit code 1, and is started again by whoever
 * started it. Nothing is lost meanwhile: what is owed stands in Postgres.
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

  /** @param isBusy whether this process has its hands full, so that jobs wait for good reason. */
  watch(queue: Queue, isBusy: () => boolean): void {
    const watched = { queue, isBusy, silentChecks: 0 };
    queue.on('active', () => {
      watched.silentChecks = 0;
    });
    this.watched.push(watched);
  }

  onApplicationBootstrap(): void {
    if (!this.env.roles.includes('worker')) return;
    this.timer = setInterval(() => void this.check(), this.options.checkMs);
    this.timer.unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  private async check(): Promise<void> {
    const { checkMs, deafMs } = this.options;
    for (const watched of this.watched) {
      const { queue, isBusy } = watched;
      const waiting = await this.redis.attempt(() => queue.getWaitingCount());
      // Without Redis there is nothing to hear.
      if (!waiting || isBusy()) watched.silentChecks = 0;
      else if (++watched.silentChecks * checkMs > deafMs) return this.end(queue.name, waiting);
    }
  }

  private end(queue: string, waiting: number): void {
    clearInterval(this.timer);
    this.logger.fatal({ queue, waiting }, 'the queue is no longer heard although jobs wait: this process ends');
    this.options.giveUp();
  }
}
