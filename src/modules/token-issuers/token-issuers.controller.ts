import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Actor, CurrentActor, CurrentPrincipal, RequireScope } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { InvalidRequestError, LimitExceededError, NotFoundError } from '../../platform/errors/errors.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { PageQuery } from '../../platform/http/page.js';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';
import {
  presentTokenIssuer,
  presentTokenIssuerPage,
  TokenIssuerDto,
  TokenIssuerPage,
  TokenIssuerView,
} from './token-issuers.dto.js';
import { TokenIssuersService } from './token-issuers.service.js';

const NO_ISSUER = new NotFoundError('token issuer');
const INVALID = new InvalidRequestError({
  field: 'jwks_url',
  reason: 'must not point to a private or special address',
});

@ApiTags('Access tokens')
@Controller('v1/account/token-issuers')
export class TokenIssuersController {
  constructor(
    private readonly issuers: TokenIssuersService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * List token issuers
   *
   * @remarks
   * Returns the issuers whose tokens the account accepts, newest first.
   */
  @Get()
  @RequireScope('account:read')
  async list(@CurrentPrincipal() { accountId }: Principal, @Query() query: PageQuery): Promise<TokenIssuerPage> {
    return presentTokenIssuerPage(query, await this.issuers.list(accountId, query));
  }

  /**
   * Create a token issuer
   *
   * @remarks
   * From now on, tokens that the issuer has signed for this account upload recordings of the end user in their claim
   * `sub`. An account can have 50 token issuers.
   */
  @Post()
  @ApiErrors(INVALID, new LimitExceededError('token issuers', 50))
  @RequireScope('account:write')
  async create(
    @CurrentPrincipal() { accountId }: Principal,
    @CurrentActor() actor: Actor,
    @Body() dto: TokenIssuerDto,
    @Query() _query: NoQuery,
  ): Promise<TokenIssuerView> {
    const issuer = await this.issuers.create(accountId, dto);
    this.securityLog.record('token issuer created', { ...actor, token_issuer_id: issuer.id, allows: issuer.allows });
    return presentTokenIssuer(issuer);
  }

  /**
   * Get a token issuer
   *
   * @remarks
   * Returns the issuer, with the audience that its tokens need.
   * @param id Identifier of the token issuer.
   */
  @Get(':token_issuer_id')
  @ApiErrors(NO_ISSUER)
  @RequireScope('account:read')
  async get(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('token_issuer_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<TokenIssuerView> {
    return presentTokenIssuer(await this.issuers.get(accountId, id));
  }

  /**
   * Update a token issuer
   *
   * @remarks
   * Replaces all of it, from the next request on; what is left out is empty.
   * @param id Identifier of the token issuer.
   */
  @Put(':token_issuer_id')
  @ApiErrors(INVALID, NO_ISSUER)
  @RequireScope('account:write')
  async update(
    @CurrentPrincipal() { accountId }: Principal,
    @CurrentActor() actor: Actor,
    @Param('token_issuer_id') id: string,
    @Body() dto: TokenIssuerDto,
    @Query() _query: NoQuery,
  ): Promise<TokenIssuerView> {
    const issuer = await this.issuers.update(accountId, id, dto);
    this.securityLog.record('token issuer changed', { ...actor, token_issuer_id: id, allows: issuer.allows });
    return presentTokenIssuer(issuer);
  }

  /**
   * Delete a token issuer
   *
   * @remarks
   * Its tokens are refused from the next request on.
   * @param id Identifier of the token issuer.
   */
  @Delete(':token_issuer_id')
  @ApiErrors(NO_ISSUER)
  @HttpCode(204)
  @RequireScope('account:write')
  async delete(
    @CurrentPrincipal() { accountId }: Principal,
    @CurrentActor() actor: Actor,
    @Param('token_issuer_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<void> {
    await this.issuers.delete(accountId, id);
    this.securityLog.record('token issuer deleted', { ...actor, token_issuer_id: id });
  }
}
