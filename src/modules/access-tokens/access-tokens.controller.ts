import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal } from '../../access/current-principal.decorator.js';
import type { Principal } from '../../access/principal.js';
import { RequireScope } from '../../access/access.decorators.js';
import { CreatedAccessTokenView, presentCreatedAccessToken } from './access-token.presenter.js';
import { CreateAccessTokenDto, DEFAULT_LIFETIME } from './access-tokens.dto.js';
import { AccessTokensService } from './access-tokens.service.js';

@ApiTags('Access tokens')
@Controller('v1/account/access-tokens')
export class AccessTokensController {
  constructor(private readonly tokens: AccessTokensService) {}

  /** Create an access token with which one end user may upload. */
  @Post()
  @RequireScope('recordings:write')
  async create(
    @CurrentPrincipal() { accountId }: Principal,
    @Body() { identity, expires_in = DEFAULT_LIFETIME }: CreateAccessTokenDto,
  ): Promise<CreatedAccessTokenView> {
    const { token, expiresAt } = await this.tokens.create(accountId, identity, expires_in);
    return presentCreatedAccessToken(identity, token, expiresAt);
  }
}
