import { BullModule } from '@nestjs/bull';
import { Global, Module } from '@nestjs/common';
import type { QueueOptions } from 'bull';
import { BullConnectionsService, BullConnectionsModule } from './bull-connections.service.js';
import { ReconcilerService } from './reconciler.service.js';
import { RedisService } from './redis.service.js';
import { QueueWatchdogService } from './queue-watchdog.service.js';

/**
 * What a process that froze or died has taken is noticed after at most twice this long; until then the same ring would
 * pass for one that still waits.
 */
const STALLED_INTERVAL_MS = 5000;
/** Each place of a process asks for a job in turn and waits so long: a frozen process goes on taking rings until then. */
const DRAIN_DELAY_SECONDS = 1;

/**
 * Bull is the jobs and never the record: a job says only "look at this row", and losing it costs a few seconds.
 * So its jobs are not kept when they are done, and a stalled one is not tried again: the reconciler will ring.
 */
function bullOptions(connections: BullConnectionsService): QueueOptions {
  return {
    createClient: connections.open,
    defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    settings: { maxStalledCount: 0, stalledInterval: STALLED_INTERVAL_MS, drainDelay: DRAIN_DELAY_SECONDS },
  };
}

@Global()
@Module({
  imports: [
    BullModule.forRootAsync({
      imports: [BullConnectionsModule],
      inject: [BullConnectionsService],
      useFactory: bullOptions,
    }),
  ],
  providers: [RedisService, ReconcilerService, QueueWatchdogService],
  exports: [RedisService, ReconcilerService, QueueWatchdogService],
})
export class QueueModule {}
