import { Global, Module } from '@nestjs/common';
import { QueueWatchdogService } from './watchdog/queue-watchdog.service.js';
import { ReconcilerService } from './reconciler.service.js';
import { RedisService } from './redis.service.js';
import { SignalsService } from './signals.service.js';

@Global()
@Module({
  providers: [RedisService, ReconcilerService, QueueWatchdogService, SignalsService],
  exports: [RedisService, ReconcilerService, QueueWatchdogService, SignalsService],
})
export class QueueModule {}
