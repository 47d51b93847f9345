import { Module } from '@nestjs/common';
import { APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { ThrottlerModule } from '@nestjs/throttler';
import { AccessTokensModule } from '../modules/access-tokens/access-tokens.module.js';
import { AccountModule } from '../modules/account/account.module.js';
import { ApiKeysModule } from '../modules/api-keys/api-keys.module.js';
import { JsonBodyGuard } from '../platform/http/input/json-body.guard.js';
import { AccessRulesService } from './access-rules.service.js';
import { AuthenticatorService } from './authenticator.service.js';
import { CredentialsGuard } from './credentials.guard.js';
import { Gate } from './gate.middleware.js';
import { PlanThrottlerGuard } from './plan-throttler.guard.js';
import { ScopeGuard } from './scope.guard.js';

/** The order of the providers is the order of the checks (D14): credentials, rate limit, account status and scope, body. */
@Module({
  imports: [
    DiscoveryModule,
    // The guard asks the gate's verdict; these figures are only there because the module wants some.
    ThrottlerModule.forRoot([{ ttl: 60_000, limit: 1 }]),
    AccountModule,
    ApiKeysModule,
    AccessTokensModule,
  ],
  providers: [
    AccessRulesService,
    AuthenticatorService,
    Gate,
    { provide: APP_GUARD, useClass: CredentialsGuard },
    { provide: APP_GUARD, useClass: PlanThrottlerGuard },
    { provide: APP_GUARD, useClass: ScopeGuard },
    { provide: APP_GUARD, useClass: JsonBodyGuard },
  ],
})
export class GuardsModule {}
