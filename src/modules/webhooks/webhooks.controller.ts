import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal } from '../../access/current-principal.decorator.js';
import type { Principal } from '../../access/principal.js';
import { RequireScope } from '../../access/access.decorators.js';
import {
  CreatedWebhookView,
  presentCreatedWebhook,
  presentWebhook,
  presentWebhookPage,
  WebhookPage,
  WebhookView,
} from './webhook.presenter.js';
import { CreateWebhookDto, ListWebhooksQuery, UpdateWebhookDto } from './webhooks.dto.js';
import { WebhooksService } from './webhooks.service.js';

@ApiTags('Webhooks')
@Controller('v1/webhooks')
export class WebhooksController {
  constructor(private readonly webhooks: WebhooksService) {}

  /** List the webhooks. */
  @Get()
  @RequireScope('webhooks:read')
  async list(@CurrentPrincipal() { accountId }: Principal, @Query() query: ListWebhooksQuery): Promise<WebhookPage> {
    return presentWebhookPage(query, await this.webhooks.list(accountId, query));
  }

  /** Create a webhook. The answer shows its secret for the only time. */
  @Post()
  @RequireScope('webhooks:write')
  async create(
    @CurrentPrincipal() { accountId }: Principal,
    @Body() dto: CreateWebhookDto,
  ): Promise<CreatedWebhookView> {
    const { webhook, secret } = await this.webhooks.create(accountId, dto);
    return presentCreatedWebhook(webhook, secret);
  }

  /** Get a webhook. */
  @Get(':webhook_id')
  @RequireScope('webhooks:read')
  async get(@CurrentPrincipal() { accountId }: Principal, @Param('webhook_id') id: string): Promise<WebhookView> {
    return presentWebhook(await this.webhooks.get(accountId, id));
  }

  /** Update a webhook. Secret and status are kept when left out. */
  @Put(':webhook_id')
  @RequireScope('webhooks:write')
  async update(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('webhook_id') id: string,
    @Body() dto: UpdateWebhookDto,
  ): Promise<WebhookView> {
    return presentWebhook(await this.webhooks.update(accountId, id, dto));
  }

  /** Delete a webhook and what is still on its way to it. */
  @Delete(':webhook_id')
  @HttpCode(204)
  @RequireScope('webhooks:write')
  async delete(@CurrentPrincipal() { accountId }: Principal, @Param('webhook_id') id: string): Promise<void> {
    await this.webhooks.delete(accountId, id);
  }
}
