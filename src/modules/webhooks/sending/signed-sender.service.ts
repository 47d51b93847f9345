import { Injectable, Logger } from '@nestjs/common';
import { SecretsService } from '../../../platform/secrets.service.js';
import { signDelivery } from './signature.js';
import { type DeliveryOutcome, WebhookSenderService } from './webhook-sender.service.js';

/** What is sent to a webhook, with its stored secrets. */
export interface UnsignedDelivery {
  webhookId: string;
  url: string;
  encryptedSecret: string;
  /** The secret before, while it still signs (D37). */
  previousEncryptedSecret: string | null;
  eventId: string;
  body: string;
  /** Number of this attempt, from 1. */
  attempt: number;
}

/** Shown to the webhook's owner, who can set a new secret. */
const UNREADABLE_SECRET: DeliveryOutcome = {
  status: null,
  errorKind: 'secret',
  error: "the webhook's secret cannot be read: set a new one",
  response: null,
  retryAfter: null,
  durationMs: 0,
};

/** Signs an event with the secrets that a webhook has now, and sends it. */
@Injectable()
export class SignedSenderService {
  private readonly logger = new Logger(SignedSenderService.name);

  constructor(
    private readonly sender: WebhookSenderService,
    private readonly secrets: SecretsService,
  ) {}

  /** Never throws. */
  async send(delivery: UnsignedDelivery, signal?: AbortSignal): Promise<DeliveryOutcome> {
    const { webhookId, url, eventId, attempt, previousEncryptedSecret: previous } = delivery;
    const secret = this.decrypt(webhookId, delivery.encryptedSecret);
    if (secret === null) return UNREADABLE_SECRET;
    const previousSecret = previous === null ? null : this.decrypt(webhookId, previous);
    const body = Buffer.from(delivery.body);
    const headers = {
      'Content-Type': 'application/json',
      'X-Service-Event-Id': eventId,
      'X-Service-Delivery-Attempt': `${attempt}`,
      ...signDelivery({ secret, previousSecret, eventId, timestampSeconds: Math.floor(Date.now() / 1000), body }),
    };
    return await this.sender.send({ url, headers, body, ...(signal && { signal }) });
  }

  /** Null when the key of the secret is lost. That counts as a failed attempt, so that the retries end. */
  private decrypt(webhookId: string, encryptedSecret: string): string | null {
    try {
      return this.secrets.decrypt(encryptedSecret, webhookId);
    } catch (error) {
      this.logger.warn({ err: error, webhook_id: webhookId }, 'webhook secret not decrypted');
      return null;
    }
  }
}
