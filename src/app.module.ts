import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { AccessModule } from './access/access.module.js';
import { ConsoleModule } from './console/console.module.js';
import { addedBy, type Extension, registerExtensions } from './extension.js';
import { GuardsModule } from './guards/guards.module.js';
import { UnknownPathModule } from './guards/unknown-path.controller.js';
import { migrationsOf } from './migrations/migrations.js';
import { AccessTokensModule } from './modules/access-tokens/access-tokens.module.js';
import { AccountModule } from './modules/account/account.module.js';
import { ApiKeysModule } from './modules/api-keys/api-keys.module.js';
import { ArchivesModule } from './modules/archives/archives.module.js';
import { AuditModule } from './modules/audit/audit.module.js';
import { BackupsModule } from './modules/backups/backups.module.js';
import { CompatModule } from './modules/compat/compat.module.js';
import { OPENAI_ERRORS } from './modules/compat/openai-errors.js';
import { HealthModule } from './modules/health/health.module.js';
import { LiveAssemblyModule, LiveModule } from './modules/live/live.module.js';
import { LiveWordsWorkerModule } from './modules/live/words/live-words-worker.module.js';
import { MCP_ERRORS } from './modules/mcp/mcp-errors.js';
import { RealtimeModule } from './modules/live/realtime/realtime.module.js';
import { McpModule } from './modules/mcp/mcp.module.js';
import { LinkWorkerModule, RecordingsModule } from './modules/recordings/recordings.module.js';
import { SignInCodesModule } from './modules/sign-in-codes/sign-in-codes.module.js';
import { type EngineSelection, selectEngines } from './modules/transcriptions/engines/engine-registry.js';
import { PeopleModule } from './modules/people/people.module.js';
import { SignInMailsModule } from './modules/people/mails/sign-in-mails.module.js';
import { TokenIssuersModule } from './modules/token-issuers/token-issuers.module.js';
import { TranscriptionsModule } from './modules/transcriptions/transcriptions.module.js';
import { TranscriptionWorkerModule } from './modules/transcriptions/worker/transcription-worker.module.js';
import { UsersModule } from './modules/users/users.module.js';
import { DeliveryWorkerModule, WebhooksModule } from './modules/webhooks/webhooks.module.js';
import { ConfigModule } from './platform/config/config.module.js';
import type { Env } from './platform/config/env.js';
import { DatabaseModule } from './platform/database/database.module.js';
import { registerErrorShape } from './platform/errors/error-body.js';
import { LoggingModule } from './platform/observability/logging.module.js';
import { PlatformModule } from './platform/platform.module.js';
import { selectObjectStore, StorageModule } from './platform/storage/storage.module.js';

/** Every module, in reading order. */
@Module({})
export class AppModule {
  static register(env: Env, extensions: Extension[]): DynamicModule {
    registerExtensions(extensions);
    registerErrorShape(OPENAI_ERRORS);
    registerErrorShape(MCP_ERRORS);
    // In every role, so that a wrong name is reported wherever it is set.
    const engines = selectEngines(env, addedBy(extensions, 'engines'));
    return {
      module: AppModule,
      imports: [
        ...baseModules(env, extensions),

        GuardsModule,
        AccountModule,
        AuditModule,
        ApiKeysModule,
        AccessTokensModule,
        TokenIssuersModule,
        SignInCodesModule,
        PeopleModule,
        RecordingsModule,
        TranscriptionsModule,
        LiveModule,
        WebhooksModule,
        CompatModule,
        McpModule,
        UsersModule,
        ArchivesModule,
        HealthModule,
        ...(env.roles.includes('api') ? [RealtimeModule, ConsoleModule.register(env)] : []),
        ...(env.roles.includes('api') && env.smtpUrl !== null ? [SignInMailsModule] : []),
        ...(env.roles.includes('transcriber') ? transcriberModules(engines, extensions) : []),
        ...(env.roles.includes('deliverer')
          ? [DeliveryWorkerModule, LinkWorkerModule, LiveAssemblyModule, BackupsModule]
          : []),

        ...extensions.map((extension) => extension.module),
        // The last, since it answers whatever nobody else does.
        UnknownPathModule,
      ],
    };
  }
}

function transcriberModules(engines: EngineSelection, extensions: Extension[]): DynamicModule[] {
  const worker = TranscriptionWorkerModule.register(engines, addedBy(extensions, 'transcriptFilters'));
  return [worker, LiveWordsWorkerModule.register(worker)];
}

/** The global modules that every other module relies on. */
function baseModules(env: Env, extensions: Extension[]): (Type | DynamicModule)[] {
  return [
    ConfigModule.forRoot(env),
    LoggingModule.forRoot(env),
    DatabaseModule.forRoot(migrationsOf(extensions)),
    PlatformModule,
    StorageModule.forRoot(selectObjectStore(env, addedBy(extensions, 'objectStores'))),
    AccessModule,
  ];
}
