import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { findOrFail, isResourceId } from '../../../platform/database/find-or-fail.js';
import { NotFoundError } from '../../../platform/errors/errors.js';
import type { PageResult } from '../../../platform/http/page.js';
import { Webhook } from '../webhook.entity.js';
import type { ListDeliveriesQuery } from './deliveries.dto.js';
import {
  type DeliveryWithAttempts,
  type DeliveryWithEvent,
  selectDelivery,
  selectDeliveryPage,
} from './delivery-log.queries.js';

/** What was sent to a webhook, and what came back (D39). */
@Injectable()
export class DeliveryLogService {
  constructor(
    @InjectRepository(Webhook) private readonly webhooks: Repository<Webhook>,
    private readonly database: DatabaseService,
  ) {}

  /** @throws NotFoundError without such a webhook */
  async list(accountId: string, webhookId: string, query: ListDeliveriesQuery): Promise<PageResult<DeliveryWithEvent>> {
    const exists = isResourceId(webhookId) && (await this.webhooks.existsBy({ id: webhookId, accountId }));
    if (!exists) throw new NotFoundError('webhook');
    return await selectDeliveryPage(this.database, webhookId, query);
  }

  /** @throws NotFoundError */
  async get(accountId: string, webhookId: string, id: string): Promise<DeliveryWithAttempts> {
    if (!isResourceId(webhookId)) throw new NotFoundError('delivery');
    return await findOrFail('delivery', id, () => selectDelivery(this.database, { accountId, webhookId, id }));
  }
}
