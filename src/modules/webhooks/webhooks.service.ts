import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, type QueryDeepPartialEntity, Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { auditTarget, differences, recordChanges, shownUrl } from '../../access/audit-trail.js';
import { Env } from '../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { findOrFail, isResourceId } from '../../platform/database/find-or-fail.js';
import { insertWithinLimit } from '../../platform/database/locks.js';
import { type BrokenRule, InvalidRequestError, NotFoundError } from '../../platform/errors/errors.js';
import type { PageResult } from '../../platform/http/page.js';
import { SecretsService } from '../../platform/secrets.service.js';
import { DeliveriesService } from './deliveries/deliveries.service.js';
import { RemovedWebhooksService } from './deliveries/removed-webhooks.service.js';
import { AllowedNetworks, checkOutgoingUrl } from '../../platform/http/outgoing/address-rules.js';
import { Webhook } from './webhook.entity.js';
import {
  type CreateWebhookDto,
  DEFAULT_OVERLAP_HOURS,
  type ListWebhooksQuery,
  type UpdateWebhookDto,
} from './webhooks.dto.js';

/** Per account (D7). */
const MAX_WEBHOOKS = 50;
const SECRET_BYTES = 32;

interface SecretChange {
  accountId: string;
  id: string;
  secret: string;
  /** How long the present secret goes on signing. */
  hours: number | undefined;
}

@Injectable()
export class WebhooksService {
  private readonly allowed: AllowedNetworks;

  constructor(
    @InjectRepository(Webhook) private readonly webhooks: Repository<Webhook>,
    private readonly database: DatabaseService,
    private readonly deliveries: DeliveriesService,
    private readonly removedWebhooks: RemovedWebhooksService,
    private readonly secrets: SecretsService,
    private readonly env: Env,
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
      recordingId: null,
      url,
      events,
      encryptedSecret: this.secrets.encrypt(secret, id),
      previousEncryptedSecret: null,
      previousSecretUntil: null,
      status: 'active',
      failingSince: null,
      consecutiveFailures: 0,
      createdAt: now,
      updatedAt: now,
    });
    const limit = {
      maximum: MAX_WEBHOOKS,
      what: 'webhooks',
      counted: { accountId, recordingId: IsNull() },
      prepare: (tx: Tx) => recordChanges(tx, { ...changeOf(webhook, 'webhook.created'), after: shownWebhook(webhook) }),
    };
    await insertWithinLimit(this.database, Webhook, webhook, limit);
    return { webhook, secret };
  }

  /** @throws NotFoundError */
  async get(accountId: string, id: string): Promise<Webhook> {
    return await findOrFail('webhook', id, () => this.webhooks.findOneBy({ id, accountId, recordingId: IsNull() }));
  }

  async list(accountId: string, { page, limit, status }: ListWebhooksQuery): Promise<PageResult<Webhook>> {
    const [items, total] = await this.webhooks.findAndCount({
      where: { accountId, recordingId: IsNull(), ...(status && { status }) },
      order: { createdAt: 'DESC', id: 'DESC' },
      skip: page * limit,
      take: limit,
    });
    return { items, total };
  }

  /** Secret and status stay unchanged when omitted. @throws NotFoundError, InvalidRequestError */
  async update(accountId: string, id: string, dto: UpdateWebhookDto): Promise<Webhook> {
    const { url, events, secret, status, previous_secret_valid_hours: hours } = dto;
    const before = await this.get(accountId, id);
    // An unchanged URL stays valid even if the rules have become stricter since.
    if (url !== before.url) this.checkUrl(url);
    return await this.database.transact(async (tx) => {
      const newSecret = secret === undefined ? {} : await this.secretChange(tx, { accountId, id, secret, hours });
      const { affected } = await tx.manager.update(
        Webhook,
        { id, accountId },
        {
          url,
          events,
          updatedAt: new Date(),
          ...newSecret,
          ...(status && { status }),
          ...(status === 'active' && { failingSince: null, consecutiveFailures: 0 }),
        },
      );
      if (!affected) throw new NotFoundError('webhook');
      if (status === 'disabled') await this.deliveries.failPending(tx, id);
      const after = await tx.manager.findOneByOrFail(Webhook, { id });
      const isNewSecret = 'encryptedSecret' in newSecret;
      await recordChanges(tx, {
        ...changeOf(after, 'webhook.updated'),
        ...webhookDifferences(before, after, isNewSecret),
      });
      return after;
    });
  }

  /** Deletes its deliveries, too. @throws NotFoundError */
  async delete(accountId: string, id: string): Promise<void> {
    if (!isResourceId(id)) throw new NotFoundError('webhook');
    await this.database.transact(async (tx) => {
      const { affected } = await tx.manager.delete(Webhook, { id, accountId, recordingId: IsNull() });
      if (!affected) throw new NotFoundError('webhook');
      await this.removedWebhooks.deleteDeliveries(tx, id);
      await recordChanges(tx, changeOf({ accountId, id }, 'webhook.deleted'));
    });
  }

  /** The rule that a URL breaks, if any. The unchanged URL of the webhook `id` breaks none. */
  async brokenUrl(accountId: string, url: string, id?: string): Promise<BrokenRule | null> {
    const isUnchanged = id !== undefined && isResourceId(id) && (await this.webhooks.existsBy({ id, accountId, url }));
    return isUnchanged ? null : this.ruleBrokenBy(url);
  }

  /**
   * The present secret becomes the previous one, unless it is given again (D37). The row is locked, so that of two
   * changes at the same time none is lost.
   */
  private async secretChange(
    tx: Tx,
    { accountId, id, secret, hours = DEFAULT_OVERLAP_HOURS }: SecretChange,
  ): Promise<QueryDeepPartialEntity<Webhook>> {
    const lock = { mode: 'for_no_key_update' } as const;
    const webhook = await tx.manager.findOne(Webhook, { where: { id, accountId }, lock });
    if (!webhook) throw new NotFoundError('webhook');
    const present = this.decryptSecret(webhook);
    if (present === secret) return {};
    const isKept = present !== null && hours > 0;
    return {
      encryptedSecret: this.secrets.encrypt(secret, id),
      previousEncryptedSecret: isKept ? webhook.encryptedSecret : null,
      previousSecretUntil: isKept ? () => `now() + make_interval(hours => ${hours})` : null,
    };
  }

  /** Null when its SECRET_KEY is lost: such a secret signs nothing any more. */
  private decryptSecret({ id, encryptedSecret }: Webhook): string | null {
    try {
      return this.secrets.decrypt(encryptedSecret, id);
    } catch {
      return null;
    }
  }

  private checkUrl(url: string): void {
    const rule = this.ruleBrokenBy(url);
    if (rule) throw new InvalidRequestError(rule);
  }

  private ruleBrokenBy(url: string): BrokenRule | null {
    const reason = checkOutgoingUrl(url, this.allowed, { httpsOnly: this.env.webhookHttpsOnly });
    return reason === null ? null : { field: 'url', reason };
  }
}

const changeOf = ({ accountId, id }: Pick<Webhook, 'accountId' | 'id'>, action: string) => ({
  accountId,
  action,
  targets: [auditTarget('webhook', id)],
});

const shownWebhook = ({ url, events, status }: Webhook) => ({ url: shownUrl(url), events, status });

function webhookDifferences(before: Webhook, after: Webhook, isNewSecret: boolean) {
  const valuesOf = (webhook: Webhook, secret: boolean) => {
    const { events, status } = webhook;
    return { url: webhook.url, events, status, secret };
  };
  const found = differences(valuesOf(before, false), valuesOf(after, isNewSecret), ['secret']);
  const shown = (values: object) => ('url' in values ? { ...values, url: shownUrl(values.url as string) } : values);
  return { before: shown(found.before), after: shown(found.after) };
}
