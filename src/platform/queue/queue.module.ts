import { Global, Module } from '@nestjs/common';
import { QueueWatchdogService } from './queue-watchdog.service.js';
import { ReconcilerService } from './reconciler.service.js';
import { RedisService } from './redis.service.js';

@Global()
@Module({
  providers: [RedisService, ReconcilerService, QueueWatchdogService],
  exports: [RedisService, ReconcilerService, QueueWatchdogService],
})
export class QueueModule {}
