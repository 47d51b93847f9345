import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal, RequireScope } from '../../../access/access.decorators.js';
import type { Principal } from '../../../access/principal.js';
import { InvalidRequestError, NotFoundError } from '../../../platform/errors/errors.js';
import { checkDays } from '../../../platform/http/page.js';
import { NoQuery } from '../../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../../platform/http/openapi.js';
import {
  deliveriesUri,
  DeliveryPage,
  DeliveryView,
  ListDeliveriesQuery,
  presentDelivery,
  presentDeliveryPage,
  presentSingleDelivery,
  RedeliverDto,
  RedeliveryView,
  SingleDeliveryView,
} from './deliveries.dto.js';
import { DeliveryLogService } from './delivery-log.service.js';
import { RedeliveriesService, redeliveryInProgress, webhookDisabled } from './redeliveries.service.js';

const NO_WEBHOOK = new NotFoundError('webhook');
const NO_DELIVERY = new NotFoundError('delivery');
const WRONG_DAYS = new InvalidRequestError({ field: 'date_from', reason: 'must not be after date_to' });

@ApiTags('Webhooks')
@Controller('v1/webhooks/:webhook_id')
export class DeliveriesController {
  constructor(
    private readonly log: DeliveryLogService,
    private readonly redeliveries: RedeliveriesService,
  ) {}

  /**
   * List deliveries
   *
   * @remarks
   * Returns the delivery log of a webhook: one delivery for each event, newest first. It is kept as long as the events.
   * @param webhookId Identifier of the webhook.
   */
  @Get('deliveries')
  @ApiErrors(WRONG_DAYS, NO_WEBHOOK)
  @RequireScope('webhooks:read')
  async list(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('webhook_id') webhookId: string,
    @Query() query: ListDeliveriesQuery,
  ): Promise<DeliveryPage> {
    checkDays(query);
    return presentDeliveryPage(webhookId, query, await this.log.list(accountId, webhookId, query));
  }

  /**
   * Get a delivery
   *
   * @remarks
   * Returns the delivery with its attempts and the exact body that was sent.
   * @param webhookId Identifier of the webhook.
   * @param id Identifier of the delivery.
   */
  @Get('deliveries/:delivery_id')
  @ApiErrors(NO_DELIVERY)
  @RequireScope('webhooks:read')
  async get(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('webhook_id') webhookId: string,
    @Param('delivery_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<SingleDeliveryView> {
    return presentSingleDelivery(await this.log.get(accountId, webhookId, id));
  }

  /**
   * Redeliver an event
   *
   * @remarks
   * Sends the event of a delivered or failed delivery again, with the same event id. The retry schedule begins anew. The
   * next attempt of a pending delivery is made now, and its schedule goes on.
   * @param webhookId Identifier of the webhook.
   * @param id Identifier of the delivery.
   */
  @Post('deliveries/:delivery_id/redeliver')
  @HttpCode(202)
  @ApiErrors(NO_DELIVERY, webhookDisabled())
  @RequireScope('webhooks:write')
  async redeliver(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('webhook_id') webhookId: string,
    @Param('delivery_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<DeliveryView> {
    await this.redeliveries.redeliver(accountId, webhookId, id);
    return presentDelivery((await this.log.get(accountId, webhookId, id)).delivery);
  }

  /**
   * Redeliver many events
   *
   * @remarks
   * Sends the failed deliveries of a webhook again, and the events that it missed while it was disabled. `count` is
   * exact; the deliveries follow in batches. A webhook has one such redelivery at a time.
   * @param webhookId Identifier of the webhook.
   */
  @Post('redeliver')
  @HttpCode(202)
  @ApiErrors(WRONG_DAYS, NO_WEBHOOK, webhookDisabled(), redeliveryInProgress())
  @RequireScope('webhooks:write')
  async redeliverMany(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('webhook_id') webhookId: string,
    @Body() dto: RedeliverDto,
    @Query() _query: NoQuery,
  ): Promise<RedeliveryView> {
    checkDays(dto);
    const count = await this.redeliveries.redeliverMany(accountId, webhookId, dto);
    return { count, uri: deliveriesUri(webhookId) };
  }
}
