import { Global, Module } from '@nestjs/common';
import { ThreadPoolService } from './thread-pool.service.js';

@Global()
@Module({ providers: [ThreadPoolService], exports: [ThreadPoolService] })
export class ThreadsModule {}
