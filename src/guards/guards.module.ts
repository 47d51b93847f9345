import { Module } from '@nestjs/common';
import { APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { ThrottlerModule } from '@nestjs/throttler';
import type { Request } from 'express';
import { AccessTokensModule } from '../modules/access-tokens/access-tokens.module.js';
import { AccountModule } from '../modules/account/account.module.js';
import { ApiKeysModule } from '../modules/api-keys/api-keys.module.js';
import { PeopleModule } from '../modules/people/people.module.js';
import { Env } from '../platform/config/env.js';
import { TokenBucketStorage } from '../platform/rate-limit/token-bucket.storage.js';
import { TokenIssuersModule } from '../modules/token-issuers/token-issuers.module.js';
import { AuditReadsGuard } from './audit-reads.guard.js';
import { OwnRecordingGuard } from './own-recording.guard.js';
import { AccessRulesService, ScopeGuard } from './scope.guard.js';
import { AddressLimitService, planThrottler, PlanThrottlerGuard } from './plan-throttler.guard.js';
import { isApiRequest } from '../platform/http/server/request-line.js';
import { AuthenticatorService } from './authenticator.service.js';
import { CredentialsGuard, RefusedCredentialsService } from './credentials.guard.js';
import { OptionsMiddleware } from './options.middleware.js';

/**
 * The guards run in the order of their providers: credentials, rate limit, then account status and scope (D14), whose
 * recording it is (D94), and for what has passed them whether it is recorded (D98).
 */
@Module({
  imports: [
    DiscoveryModule,
    ThrottlerModule.forRootAsync({
      inject: [Env, TokenBucketStorage],
      useFactory: (env: Env, storage: TokenBucketStorage) => ({
        storage,
        throttlers: [planThrottler(env.addressRateLimit)],
        skipIf: (context) => !isApiRequest(context.switchToHttp().getRequest<Request>()),
      }),
    }),
    AccountModule,
    ApiKeysModule,
    AccessTokensModule,
    TokenIssuersModule,
    PeopleModule,
  ],
  providers: [
    AccessRulesService,
    AddressLimitService,
    AuthenticatorService,
    OptionsMiddleware,
    RefusedCredentialsService,
    { provide: APP_GUARD, useClass: CredentialsGuard },
    { provide: APP_GUARD, useClass: PlanThrottlerGuard },
    { provide: APP_GUARD, useClass: ScopeGuard },
    { provide: APP_GUARD, useClass: OwnRecordingGuard },
    { provide: APP_GUARD, useClass: AuditReadsGuard },
  ],
})
export class GuardsModule {}
