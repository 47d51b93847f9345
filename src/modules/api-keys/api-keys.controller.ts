import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal } from '../../access/current-principal.decorator.js';
import type { Principal } from '../../access/principal.js';
import { RequireScope } from '../../access/access.decorators.js';
import {
  ApiKeyPage,
  CreatedApiKeyView,
  presentApiKeyPage,
  presentCreatedApiKey,
  presentSingleApiKey,
  SingleApiKeyView,
} from './api-key.presenter.js';
import { CreateApiKeyDto, ListApiKeysQuery } from './api-keys.dto.js';
import { ApiKeysService } from './api-keys.service.js';

@ApiTags('API keys')
@Controller('v1/account/api-keys')
export class ApiKeysController {
  constructor(private readonly keys: ApiKeysService) {}

  /** List the API keys. */
  @Get()
  @RequireScope('account:read')
  async list(@CurrentPrincipal() { accountId }: Principal, @Query() query: ListApiKeysQuery): Promise<ApiKeyPage> {
    return presentApiKeyPage(query, await this.keys.list(accountId, query));
  }

  /** Create an API key. The answer shows its secret for the only time. */
  @Post()
  @RequireScope('account:write')
  async create(
    @CurrentPrincipal() { accountId, scopes }: Principal,
    @Body() dto: CreateApiKeyDto,
  ): Promise<CreatedApiKeyView> {
    const { key, secret } = await this.keys.create(accountId, scopes, dto);
    return presentCreatedApiKey(key, secret);
  }

  /** Get an API key. */
  @Get(':key_id')
  @RequireScope('account:read')
  async get(@CurrentPrincipal() { accountId }: Principal, @Param('key_id') id: string): Promise<SingleApiKeyView> {
    return presentSingleApiKey(await this.keys.get(accountId, id));
  }

  /** Revoke an API key, at once and for good. */
  @Delete(':key_id')
  @HttpCode(204)
  @RequireScope('account:write')
  async revoke(@CurrentPrincipal() { accountId }: Principal, @Param('key_id') id: string): Promise<void> {
    await this.keys.revoke(accountId, id);
  }
}
