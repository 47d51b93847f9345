import { type DynamicModule, type INestApplicationContext, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { actAsOperator } from '../../access/acting.js';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import type { Extension } from '../../extension.js';
import { migrationsOf } from '../../migrations/migrations.js';
import { Account } from '../../modules/account/account.entity.js';
import { AccountService } from '../../modules/account/account.service.js';
import { ApiKey } from '../../modules/api-keys/api-key.entity.js';
import { AuditEntry, AuditLog } from '../../modules/audit/audit-entry.entity.js';
import { AuditLogService } from '../../modules/audit/audit-log.service.js';
import { ApiKeysService } from '../../modules/api-keys/api-keys.service.js';
import { PeopleService } from '../../modules/people/people.service.js';
import { SignInLinksService } from '../../modules/people/sign-in-links.service.js';
import { SignInWaysService } from '../../modules/people/sign-in-ways.service.js';
import { CounterAuditService } from '../../modules/recordings/usage-counters/counter-audit.service.js';
import { UsageService } from '../../modules/recordings/usage-counters/usage.service.js';
import { RetranscriptionsService } from '../../modules/transcriptions/retranscriptions.service.js';
import { WebhookSecretsService } from '../../modules/webhooks/webhook-secrets.service.js';
import { Membership } from '../../modules/people/membership.entity.js';
import { Person } from '../../modules/people/person.entity.js';
import { SignInLink } from '../../modules/people/sign-in-link.entity.js';
import { Webhook } from '../../modules/webhooks/webhook.entity.js';
import { ConfigModule } from '../../platform/config/config.module.js';
import { type Env, readEnv } from '../../platform/config/env.js';
import { protectProcess } from '../../platform/config/process-protection.js';
import { DatabaseModule } from '../../platform/database/database.module.js';
import { inOperatorsWords } from '../../platform/database/unavailable.js';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';
import { createLogger, standardError } from '../../platform/observability/structured-logger.service.js';
import { MailerService } from '../../platform/mail/mailer.service.js';
import { RedisService } from '../../platform/redis/redis.service.js';
import { SecretsService } from '../../platform/secrets.service.js';
import { StorageKey } from '../../platform/storage/encryption/storage-key.entity.js';
import { StorageKeysService } from '../../platform/storage/encryption/storage-keys.service.js';

/**
 * The services that the commands use, rather than their modules: those bring controllers, uploads and metrics, whose
 * import would double the time of every command.
 */
@Module({})
class AdminModule {
  static register(env: Env, extensions: Extension[], securityLog: SecurityLogService): DynamicModule {
    return {
      module: AdminModule,
      imports: [
        ConfigModule.forRoot(env),
        // Commands may count the rows of all accounts, and the operator waits for them.
        DatabaseModule.forRoot(migrationsOf(extensions), { connectAttempts: 1, statementTimeoutMs: 0 }),
        TypeOrmModule.forFeature([
          Account,
          ApiKey,
          AuditEntry,
          AuditLog,
          Webhook,
          Person,
          Membership,
          SignInLink,
          StorageKey,
        ]),
      ],
      providers: [
        RedisService,
        SecretsService,
        StorageKeysService,
        CredentialVersionsService,
        UsageService,
        CounterAuditService,
        AuditLogService,
        AccountService,
        ApiKeysService,
        PeopleService,
        MailerService,
        SignInLinksService,
        SignInWaysService,
        WebhookSecretsService,
        RetranscriptionsService,
        { provide: SecurityLogService, useValue: securityLog },
      ],
    };
  }
}

/** Runs `work` on the services, without a role: nothing listens and nothing is processed. */
export async function withApp<T>(
  extensions: Extension[],
  work: (app: INestApplicationContext) => Promise<T>,
): Promise<T> {
  Logger.overrideLogger(false);
  const given = readEnv({ ...process.env, ROLES: undefined });
  const env = { ...given, roles: [], logLevel: 'silent' };
  // Standard output is for the result of the command.
  const securityLog = new SecurityLogService(createLogger(given, standardError()));
  protectProcess();
  return await inOperatorsWords(env, async () => {
    const options = { logger: false, abortOnError: false } as const;
    const app = await NestFactory.createApplicationContext(AdminModule.register(env, extensions, securityLog), options);
    try {
      return await actAsOperator(() => work(app));
    } finally {
      await app.close();
    }
  });
}

/** Records what an operator did, on standard error: the user of the operating system is all that is known of who. */
export function recordByOperator(
  app: INestApplicationContext,
  event: string,
  fields: Record<string, string | readonly string[]>,
): void {
  app.get(SecurityLogService).record(event, { by: 'operator', by_uid: process.getuid?.(), ...fields });
}
