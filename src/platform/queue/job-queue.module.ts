import { BullModule, getQueueToken } from '@nestjs/bull';
import { type DynamicModule, Module } from '@nestjs/common';
import { Env } from '../config/env.js';
import { RedisService } from '../redis/redis.service.js';
import { JobQueue } from './job-queue.js';

/** Registers a queue: enqueue through `@InjectQueue(name)`, consume with `@Processor(name)`. */
@Module({})
export class JobQueueModule {
  static register(name: string): DynamicModule {
    return {
      module: JobQueueModule,
      // Registers no queue, but the explorer that starts the processors.
      imports: [BullModule.registerQueue()],
      providers: [
        {
          provide: getQueueToken(name),
          inject: [Env, RedisService],
          useFactory: (env: Env, redis: RedisService) => new JobQueue(name, env, redis),
        },
      ],
      exports: [getQueueToken(name)],
    };
  }
}
