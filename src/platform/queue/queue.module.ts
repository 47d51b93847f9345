import { Global, Module } from '@nestjs/common';
import { QueueWatchdogService } from './watchdog/queue-watchdog.service.js';

@Global()
@Module({ providers: [QueueWatchdogService], exports: [QueueWatchdogService] })
export class QueueModule {}
