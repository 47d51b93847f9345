import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Actor, CurrentActor, CurrentPrincipal, RequireScope } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { pageFields } from '../../platform/http/page.js';
import {
  InvalidRequestError,
  LimitExceededError,
  NotFoundError,
  PermissionError,
} from '../../platform/errors/errors.js';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import {
  ApiKeyPage,
  CreateApiKeyDto,
  CreatedApiKeyView,
  GetApiKeyQuery,
  ListApiKeysQuery,
  RevokeApiKeyQuery,
  SingleApiKeyView,
} from './api-keys.dto.js';
import { ApiKeysService } from './api-keys.service.js';
import { presentApiKey, presentCreatedApiKey, presentSingleApiKey } from './api-key.presenter.js';

@ApiTags('API keys')
@Controller('v1/account/api-keys')
export class ApiKeysController {
  constructor(
    private readonly keys: ApiKeysService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * List API keys
   *
   * @remarks
   * Returns the API keys of the account, newest first. Revoked keys are listed only with `status=revoked`.
   */
  @Get()
  @RequireScope('account:read')
  async list(@CurrentPrincipal() { accountId }: Principal, @Query() query: ListApiKeysQuery): Promise<ApiKeyPage> {
    const found = await this.keys.list(accountId, query);
    return {
      api_keys: found.items.map((key) => presentApiKey(key, query)),
      ...pageFields('/v1/account/api-keys', query, found),
    };
  }

  /**
   * Create an API key
   *
   * @remarks
   * The response is the only one that shows `api_key` and `api_secret`. A new key can hold only scopes that the creating
   * key holds, expires no later than that, and may be used from no other addresses. An account can have 100 active keys.
   */
  @Post()
  @ApiErrors(
    new InvalidRequestError({ field: 'name', reason: 'is required' }),
    new LimitExceededError('active API keys', 100),
    new PermissionError('webhooks:write', 'A key without the scope webhooks:write cannot give it to another key.'),
  )
  @RequireScope('account:write')
  async create(
    @CurrentPrincipal() { accountId, keyId, personId, scopes }: Principal,
    @CurrentActor() actor: Actor,
    @Body() dto: CreateApiKeyDto,
    @Query() _query: NoQuery,
  ): Promise<CreatedApiKeyView> {
    const { key, secret } = await this.keys.create(accountId, { keyId, personId, scopes }, dto);
    this.securityLog.record('api key created', { ...actor, key_id: key.id, scopes: key.scopes });
    return presentCreatedApiKey(key, secret);
  }

  /**
   * Get an API key
   *
   * @remarks
   * Returns the key and its description, also after it was revoked. The secret is never shown again.
   * @param id Identifier of the API key.
   */
  @Get(':key_id')
  @ApiErrors(new NotFoundError('API key'))
  @RequireScope('account:read')
  async get(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('key_id') id: string,
    @Query() query: GetApiKeyQuery,
  ): Promise<SingleApiKeyView> {
    return presentSingleApiKey(await this.keys.get(accountId, id), query);
  }

  /**
   * Revoke an API key
   *
   * @remarks
   * Revokes the key at once and permanently: the next request with it is refused. A key can revoke itself. With
   * `descendants=true` the keys that it created are revoked too, and so on; 404 only if all of them are revoked already.
   * @param id Identifier of the API key.
   */
  @Delete(':key_id')
  @ApiErrors(new NotFoundError('API key'))
  @HttpCode(204)
  @RequireScope('account:write')
  async revoke(
    @CurrentPrincipal() { accountId }: Principal,
    @CurrentActor() actor: Actor,
    @Param('key_id') id: string,
    @Query() { descendants }: RevokeApiKeyQuery,
  ): Promise<void> {
    const revoked = await this.keys.revoke(accountId, id, { descendants: descendants === 'true' });
    for (const keyId of revoked) this.securityLog.record('api key revoked', { ...actor, key_id: keyId });
  }
}
