import { setTimeout as delay } from 'node:timers/promises';
import type { Queue } from 'bull';
import { RedisService } from './redis.service.js';

/** A ring is remembered as "still waiting" for this long; after that the same row may be rung again. */
const SAME_RING_MS = 300_000;

/** When the process stops, Bull says good-bye to Redis. One that does not answer is not waited for any longer. */
const GOODBYE_MS = 1000;

/** Rings a queue for a row. A ring may get lost: the row says what is owed, and the reconciler rings again. */
export class JobQueue<Ring extends { [key: string]: string }> {
  constructor(
    private readonly queue: Queue<Ring>,
    private readonly redis: RedisService,
  ) {
    Object.assign(queue, {
      // In the place of the hook that Nest's Bull module has put there, which would wait for ever.
      onApplicationShutdown: () => this.close(),
      // Bull names its connections in Redis, and nobody catches the error when Redis is away at the end.
      setWorkerName: () => undefined,
    });
  }

  /**
   * @param occasion a repeated ring for the same row and occasion is dropped while the first still waits.
   * @param delayMs rings no earlier than that.
   */
  async ring(data: Ring, occasion: string | number, delayMs = 0): Promise<void> {
    const window = Math.floor(Date.now() / SAME_RING_MS);
    const jobId = [...Object.values(data), occasion, window].join('-');
    await this.redis.attempt(() => this.queue.add(data, { jobId, delay: delayMs }));
  }

  private async close(): Promise<void> {
    const closed = this.queue.close().catch(() => undefined);
    await Promise.race([closed, delay(GOODBYE_MS, null, { ref: false })]);
  }
}
