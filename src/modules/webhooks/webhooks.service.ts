import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Env } from '../../platform/config/env.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { findOrFail } from '../../platform/database/find-or-fail.js';
import { insertWithinLimit } from '../../platform/database/insert-within-limit.js';
import { type BrokenRule, InvalidRequestError, NotFoundError } from '../../platform/errors/errors.js';
import type { PageResult } from '../../platform/http/page.js';
import { isResourceId } from '../../platform/http/input/resource-id.js';
import { SecretsService } from '../../platform/secrets/secrets.service.js';
import { DeliveriesService } from './deliveries/deliveries.service.js';
import { AllowedNetworks, checkWebhookUrl } from './sending/address-rules.js';
import { Webhook } from './webhook.entity.js';
import type { CreateWebhookDto, ListWebhooksQuery, UpdateWebhookDto } from './webhooks.dto.js';

/** Per account (D7). */
const MAX_WEBHOOKS = 50;
const SECRET_BYTES = 32;

@Injectable()
export class WebhooksService {
  private readonly allowed: AllowedNetworks;

  constructor(
    @InjectRepository(Webhook) private readonly webhooks: Repository<Webhook>,
    private readonly database: DatabaseService,
    private readonly deliveries: DeliveriesService,
    private readonly secrets: SecretsService,
    env: Env,
  ) {
    this.allowed = new AllowedNetworks(env.webhookAllowedCidrs);
  }

  /** @returns the webhook and its plain secret, which is stored encrypted. @throws InvalidRequestError, LimitExceededError */
  async create(accountId: string, { url, events, secret: given }: CreateWebhookDto) {
    this.checkUrl(url);
    const id = uuidv7();
    const secret = given ?? `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
    const now = new Date();
    const webhook = this.webhooks.create({
      id,
      accountId,
      url,
      events,
      encryptedSecret: this.secrets.encrypt(secret, id),
      status: 'active',
      failingSince: null,
      consecutiveFailures: 0,
      createdAt: now,
      updatedAt: now,
    });
    const limit = { maximum: MAX_WEBHOOKS, what: 'webhooks', counted: { accountId } };
    await insertWithinLimit(this.database, Webhook, webhook, limit);
    return { webhook, secret };
  }

  /** @throws NotFoundError */
  async get(accountId: string, id: string): Promise<Webhook> {
    return await findOrFail('webhook', id, () => this.webhooks.findOneBy({ id, accountId }));
  }

  async list(accountId: string, { page, limit, status }: ListWebhooksQuery): Promise<PageResult<Webhook>> {
    const [items, total] = await this.webhooks.findAndCount({
      where: { accountId, ...(status && { status }) },
      order: { createdAt: 'DESC', id: 'DESC' },
      skip: page * limit,
      take: limit,
    });
    return { items, total };
  }

  /** Secret and status stay unchanged when omitted. @throws NotFoundError, InvalidRequestError */
  async update(accountId: string, id: string, { url, events, secret, status }: UpdateWebhookDto): Promise<Webhook> {
    const before = await this.get(accountId, id);
    // An unchanged URL stays valid even if the rules have become stricter since.
    if (url !== before.url) this.checkUrl(url);
    return await this.database.transact(async (tx) => {
      const { affected } = await tx.manager.update(
        Webhook,
        { id, accountId },
        {
          url,
          events,
          updatedAt: new Date(),
          ...(secret !== undefined && { encryptedSecret: this.secrets.encrypt(secret, id) }),
          ...(status && { status }),
          ...(status === 'active' && { failingSince: null, consecutiveFailures: 0 }),
        },
      );
      if (!affected) throw new NotFoundError('webhook');
      if (status === 'disabled') await this.deliveries.failPending(tx, id);
      return await tx.manager.findOneByOrFail(Webhook, { id });
    });
  }

  /** Deletes its deliveries, too. @throws NotFoundError */
  async delete(accountId: string, id: string): Promise<void> {
    if (!isResourceId(id)) throw new NotFoundError('webhook');
    await this.database.transact(async (tx) => {
      const { affected } = await tx.manager.delete(Webhook, { id, accountId });
      if (!affected) throw new NotFoundError('webhook');
      await this.deliveries.deleteAll(tx, id);
    });
  }

  /** The rule that a URL breaks, if any. The unchanged URL of the webhook `id` breaks none. */
  async brokenUrl(accountId: string, url: string, id?: string): Promise<BrokenRule | null> {
    const isUnchanged = id !== undefined && isResourceId(id) && (await this.webhooks.existsBy({ id, accountId, url }));
    return isUnchanged ? null : this.ruleBrokenBy(url);
  }

  private checkUrl(url: string): void {
    const rule = this.ruleBrokenBy(url);
    if (rule) throw new InvalidRequestError(rule);
  }

  private ruleBrokenBy(url: string): BrokenRule | null {
    const reason = checkWebhookUrl(url, this.allowed);
    return reason === null ? null : { field: 'url', reason };
  }
}
