import { Global, Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { ThreadPoolService } from './concurrency/thread-pool.service.js';
import { DatabaseService } from './database/database.service.js';
import { EventBus } from './database/event-bus.js';
import { MailerService } from './mail/mailer.service.js';
import { HealthService } from './observability/health.service.js';
import { createMetricsRegistry, MetricsMiddleware } from './observability/metrics.js';
import { ReconcilerService } from './queue/reconciler.service.js';
import { TokenBucketStorage } from './rate-limit/token-bucket.storage.js';
import { RedisService } from './redis/redis.service.js';
import { SignalsService } from './redis/signals.service.js';
import { SecretsService } from './secrets.service.js';

const SERVICES = [
  RedisService,
  SignalsService,
  EventBus,
  ReconcilerService,
  ThreadPoolService,
  SecretsService,
  TokenBucketStorage,
  HealthService,
  MailerService,
  MetricsMiddleware,
];

/** The services of the platform that need no module of their own, for every module. */
@Global()
@Module({
  providers: [
    ...SERVICES,
    { provide: Registry, inject: [EventBus, DatabaseService], useFactory: createMetricsRegistry },
  ],
  exports: [...SERVICES, Registry],
})
export class PlatformModule {}
