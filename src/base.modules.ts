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
import { QueueModule } from './platform/queue/queue.module.js';
import { RateLimitModule } from './platform/rate-limit/rate-limit.module.js';
import { SecretsModule } from './platform/secrets/secrets.module.js';
import { selectObjectStore } from './platform/storage/object-store-registry.js';
import { StorageModule } from './platform/storage/storage.module.js';

interface BaseOptions {
  /** How often a start tries to reach Postgres, once a second. */
  connectAttempts?: number;
}

/** The global modules that every other module relies on: the same for the service and the command line. */
export function baseModules(
  env: Env,
  extensions: Extension[],
  { connectAttempts }: BaseOptions = {},
): (Type | DynamicModule)[] {
  return [
    ConfigModule.for(env),
    LoggingModule.for(env),
    DatabaseModule.for(migrationsOf(extensions), { connectAttempts }),
    QueueModule,
    SecretsModule,
    StorageModule.for(selectObjectStore(env, addedBy(extensions, 'objectStores'))),
    EventsModule,
    RateLimitModule,
    AccessModule,
    ObservabilityModule,
  ];
}
