import { Body, Controller, Delete, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  type Actor,
  CurrentActor,
  CurrentPrincipal,
  RequireKey,
  RequireScope,
} from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { InvalidRequestError } from '../../platform/errors/errors.js';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import {
  CreateAccessTokenDto,
  CreatedAccessTokenView,
  DEFAULT_LIFETIME,
  presentCreatedAccessToken,
  VoidAccessTokensQuery,
} from './access-tokens.dto.js';
import { AccessTokensService } from './access-tokens.service.js';

@ApiTags('Access tokens')
@Controller('v1/account/access-tokens')
export class AccessTokensController {
  constructor(
    private readonly tokens: AccessTokensService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * Create an access token
   *
   * @remarks
   * Creates a token with which the app of one end user uploads recordings and can do nothing else. The response is the
   * only one that shows the token. The token is valid no longer than the API key that creates it.
   */
  @Post()
  @ApiErrors(new InvalidRequestError({ field: 'identity', reason: 'is required' }))
  @RequireKey('recordings:write')
  async create(
    @CurrentPrincipal() principal: Principal,
    @CurrentActor() actor: Actor,
    @Body() { identity, expires_in = DEFAULT_LIFETIME }: CreateAccessTokenDto,
    @Query() _query: NoQuery,
  ): Promise<CreatedAccessTokenView> {
    const { id, token, expiresAt } = await this.tokens.create(principal, identity, expires_in);
    this.securityLog.record('access token created', { ...actor, token_id: id });
    return presentCreatedAccessToken(identity, token, expiresAt);
  }

  /**
   * Void access tokens
   *
   * @remarks
   * Every access token of the account, or of one end user, that was created before is refused from the next request on.
   * Tokens that are created afterwards are valid.
   */
  @Delete()
  @HttpCode(204)
  @RequireScope('account:write')
  async void(
    @CurrentPrincipal() { accountId }: Principal,
    @CurrentActor() actor: Actor,
    @Query() { identity }: VoidAccessTokensQuery,
  ): Promise<void> {
    await this.tokens.void(accountId, identity);
    this.securityLog.record('access tokens voided', { ...actor, of_all_end_users: identity === undefined });
  }
}
