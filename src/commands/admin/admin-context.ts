import { type DynamicModule, type INestApplicationContext, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { baseModules } from '../../base.modules.js';
import type { Extension } from '../../extension.js';
import { AccountModule } from '../../modules/account/account.module.js';
import { ApiKeysModule } from '../../modules/api-keys/api-keys.module.js';
import { WebhookSecretsModule } from '../../modules/webhooks/webhook-secrets.module.js';
import { type Env, readEnv } from '../../platform/config/env.js';
import { connectionErrorMessage } from '../../platform/database/connection-error.js';

/** Only what the commands use: the whole application takes twice as long to import. */
@Module({})
class AdminModule {
  static for(env: Env, extensions: Extension[]): DynamicModule {
    const base = baseModules(env, extensions, { connectAttempts: 1 });
    return { module: AdminModule, imports: [...base, AccountModule, ApiKeysModule, WebhookSecretsModule] };
  }
}

/** Runs `work` on the services, without a role: nothing listens and nothing is processed. */
export async function withApp<T>(
  extensions: Extension[],
  work: (app: INestApplicationContext) => Promise<T>,
): Promise<T> {
  Logger.overrideLogger(false);
  const env = { ...readEnv(process.env), roles: [], logLevel: 'silent' };
  try {
    const options = { logger: false, abortOnError: false } as const;
    const app = await NestFactory.createApplicationContext(AdminModule.for(env, extensions), options);
    try {
      return await work(app);
    } finally {
      await app.close();
    }
  } catch (error) {
    throw new Error(connectionErrorMessage(error, env.databaseUrl) ?? (error as Error).message, { cause: error });
  }
}
