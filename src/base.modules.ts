import type { DynamicModule, Type } from '@nestjs/common';
import { AccessModule } from './access/access.module.js';
import { addedBy, type Extension } from './extension.js';
import { migrationsOf } from './migrations/migrations.js';
import { ConfigModule } from './platform/config/config.module.js';
import type { Env } from './platform/config/env.js';
import { DatabaseModule } from './platform/database/database.module.js';
import { EventsModule } from './platform/events/events.module.js';
import { LoggingModule } from './platform/observability/logging.module.js';
import { ObservabilityModule } from './platform/observability/observability.module.js';
import { RateLimitModule } from './platform/rate-limit/rate-limit.module.js';
import { ThreadsModule } from './platform/threads/threads.module.js';
import { ReconcilerModule } from './platform/reconciler/reconciler.module.js';
import { RedisModule } from './platform/redis/redis.module.js';
import { SecretsModule } from './platform/secrets/secrets.module.js';
import { selectObjectStore } from './platform/storage/object-store-registry.js';
import { StorageModule } from './platform/storage/storage.module.js';

/** The global modules that every other module relies on. */
export function baseModules(env: Env, extensions: Extension[]): (Type | DynamicModule)[] {
  return [
    ConfigModule.forRoot(env),
    LoggingModule.forRoot(env),
    DatabaseModule.forRoot(migrationsOf(extensions)),
    RedisModule,
    ReconcilerModule,
    ThreadsModule,
    SecretsModule,
    StorageModule.forRoot(selectObjectStore(env, addedBy(extensions, 'objectStores'))),
    EventsModule,
    RateLimitModule,
    AccessModule,
    ObservabilityModule,
  ];
}
