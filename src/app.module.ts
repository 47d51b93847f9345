import { type DynamicModule, Module } from '@nestjs/common';
import { AccessModule } from './access/access.module.js';
import { addedBy, type Extension, registerExtensions } from './extension.js';
import { GuardsModule } from './guards/guards.module.js';
import { UnknownPathModule } from './guards/unknown-path.module.js';
import { migrationsOf } from './migrations/migrations.js';
import { AccessTokensModule } from './modules/access-tokens/access-tokens.module.js';
import { AccountModule } from './modules/account/account.module.js';
import { ApiKeysModule } from './modules/api-keys/api-keys.module.js';
import { HealthModule } from './modules/health/health.module.js';
import { RecordingsModule } from './modules/recordings/recordings.module.js';
import { selectEngine } from './modules/transcriptions/engines/engine-registry.js';
import { TranscriptionsModule } from './modules/transcriptions/transcriptions.module.js';
import { TranscriptionWorkerModule } from './modules/transcriptions/worker/transcription-worker.module.js';
import { DeliveryWorkerModule, WebhooksModule } from './modules/webhooks/webhooks.module.js';
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

/** Every module, in reading order. */
@Module({})
export class AppModule {
  static for(env: Env, extensions: Extension[]): DynamicModule {
    registerExtensions(extensions);
    // In every role, so that a wrong name is reported wherever it is set.
    const engine = selectEngine(env, addedBy(extensions, 'engines'));
    const objectStore = selectObjectStore(env, addedBy(extensions, 'objectStores'));
    return {
      module: AppModule,
      imports: [
        ConfigModule.for(env),
        LoggingModule.for(env),
        DatabaseModule.for(migrationsOf(extensions)),
        QueueModule,
        SecretsModule,
        StorageModule.for(objectStore),
        EventsModule,
        RateLimitModule,
        AccessModule,
        ObservabilityModule,

        GuardsModule,
        AccountModule,
        ApiKeysModule,
        AccessTokensModule,
        RecordingsModule,
        TranscriptionsModule,
        WebhooksModule,
        HealthModule,
        ...(env.roles.includes('worker') ? [TranscriptionWorkerModule.for(env, engine), DeliveryWorkerModule] : []),

        ...extensions.map((extension) => extension.module),
        // The last, since it answers whatever nobody else does.
        UnknownPathModule,
      ],
    };
  }
}
