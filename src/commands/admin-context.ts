import { type DynamicModule, type INestApplicationContext, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AccessModule } from '../access/access.module.js';
import { addedBy } from '../extension.js';
import { extensions } from '../extensions.js';
import { migrationsOf } from '../migrations/migrations.js';
import { AccountModule } from '../modules/account/account.module.js';
import { ApiKeysModule } from '../modules/api-keys/api-keys.module.js';
import { WebhookSecretsModule } from '../modules/webhooks/webhook-secrets.module.js';
import { ConfigModule } from '../platform/config/config.module.js';
import { Env, readEnv } from '../platform/config/env.js';
import { connectionErrorMessage } from '../platform/database/connection-error.js';
import { DatabaseModule } from '../platform/database/database.module.js';
import { EventsModule } from '../platform/events/events.module.js';
import { LoggingModule } from '../platform/observability/logging.module.js';
import { ObservabilityModule } from '../platform/observability/observability.module.js';
import { QueueModule } from '../platform/queue/queue.module.js';
import { SecretsModule } from '../platform/secrets/secrets.module.js';
import { selectObjectStore } from '../platform/storage/object-store-registry.js';
import { StorageModule } from '../platform/storage/storage.module.js';

/** Only what the commands use: the whole application takes twice as long to import. */
@Module({})
class AdminModule {
  static for(env: Env): DynamicModule {
    return {
      module: AdminModule,
      imports: [
        ConfigModule.for(env),
        LoggingModule.for(env),
        DatabaseModule.for(migrationsOf(extensions), { connectAttempts: 1 }),
        QueueModule,
        SecretsModule,
        StorageModule.for(selectObjectStore(env, addedBy(extensions, 'objectStores'))),
        EventsModule,
        AccessModule,
        ObservabilityModule,
        AccountModule,
        ApiKeysModule,
        WebhookSecretsModule,
      ],
    };
  }
}

/** Runs `work` on the services, without a role: nothing listens and nothing is processed. */
export async function withApp<T>(work: (app: INestApplicationContext) => Promise<T>): Promise<T> {
  Logger.overrideLogger(false);
  const env = { ...readEnv(process.env), roles: [], logLevel: 'silent' };
  try {
    const options = { logger: false, abortOnError: false } as const;
    const app = await NestFactory.createApplicationContext(AdminModule.for(env), options);
    try {
      return await work(app);
    } finally {
      await app.close();
    }
  } catch (error) {
    throw new Error(connectionErrorMessage(error, env.databaseUrl) ?? (error as Error).message, { cause: error });
  }
}
