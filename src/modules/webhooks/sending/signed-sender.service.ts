import { createHmac } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { SecretsService } from '../../../platform/secrets.service.js';
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

interface SignedDelivery {
  /** The webhook's secret in plain text. */
  secret: string;
  /** The one before, while receivers may not have the new one yet (D37). */
  previousSecret?: string | null;
  /** The event's id, the same on every attempt. */
  eventId: string;
  /** Unix time in seconds of this attempt. */
  timestampSeconds: number;
  /** The bytes that are sent. */
  body: Buffer;
}

const SECRET_PREFIX = 'whsec_';
/** RFC 4648 §4 with its padding: what the Standard Webhooks libraries accept. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$/;

/**
 * The signature headers: `X-Service-Signature` over the body, and those of Standard Webhooks
 * (https://www.standardwebhooks.com), whose signature also covers the id and the time against replays.
 */
export function signDelivery({
  secret,
  previousSecret,
  eventId,
  timestampSeconds,
  body,
}: SignedDelivery): Record<string, string> {
  const bodyDigest = createHmac('sha256', Buffer.from(secret, 'utf8')).update(body).digest('hex');
  const messageDigest = (key: Buffer): string =>
    createHmac('sha256', key).update(`${eventId}.${timestampSeconds}.`).update(body).digest('base64');
  const secrets = typeof previousSecret === 'string' ? [secret, previousSecret] : [secret];
  return {
    'X-Service-Signature': `sha256=${bodyDigest}`,
    'webhook-id': eventId,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': secrets.map((one) => `v1,${messageDigest(standardKey(one))}`).join(' '),
  };
}

/** A secret that is not base64 after `whsec_` is itself the key, as one without the prefix is. */
function standardKey(secret: string): Buffer {
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : '';
  return BASE64.test(encoded) ? Buffer.from(encoded, 'base64') : Buffer.from(secret, 'utf8');
}
