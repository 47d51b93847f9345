import { BullModule } from '@nestjs/bull';
import { Global, Module } from '@nestjs/common';
import type { QueueOptions } from 'bull';
import { Redis } from 'ioredis';
import { Env } from '../config/env.js';
import { Reconciler } from './reconciler.js';
import { RedisConnection, redisOptions } from './redis.js';

/**
 * Bull is the doorbell and never the record: a job says only "look at this row", and losing it costs a few seconds.
 * So its jobs are not kept when they are done, and a stalled one is not tried again: the reconciler will ring.
 */
function bullOptions(env: Env): QueueOptions {
  return {
    createClient: (type) =>
      new Redis(
        env.redisUrl,
        type === 'client'
          ? redisOptions
          : { ...redisOptions, maxRetriesPerRequest: null, enableReadyCheck: false, enableOfflineQueue: true },
      ).on('error', () => undefined),
    defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    settings: { maxStalledCount: 0 },
  };
}

@Global()
@Module({
  imports: [BullModule.forRootAsync({ inject: [Env], useFactory: bullOptions })],
  providers: [RedisConnection, Reconciler],
  exports: [RedisConnection, Reconciler],
})
export class QueueModule {}
