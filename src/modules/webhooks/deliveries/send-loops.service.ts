import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { retryWhileUnavailable } from '../../../platform/database/unavailable.js';
import { SecretsService } from '../../../platform/secrets/secrets.service.js';
import { signDelivery } from '../sending/signature.js';
import { type DeliveryOutcome, WebhookSenderService } from '../sending/webhook-sender.service.js';
import type { ClaimedDelivery } from './deliveries.queries.js';
import { DeliveriesService } from './deliveries.service.js';
import { WebhookSendLoop } from './webhook-send-loop.js';

/** Webhooks served at the same time; bounds the sockets of the process. */
const MAX_SEND_LOOPS = 250;
/** An outcome is kept this long while Postgres is unavailable: the lease minus the longest attempt. */
const RECORD_MS = 10_000;
/** On shutdown deliveries in progress have this long to finish. */
const SHUTDOWN_MS = 5000;

/** Shown to the webhook's owner, who can set a new secret. */
const UNREADABLE_SECRET: DeliveryOutcome = {
  status: null,
  error: "the webhook's secret cannot be read: set a new one",
  retryAfter: null,
  durationMs: 0,
};

/**
 * Runs one send loop for each webhook with due deliveries, so that a slow or dead endpoint delays no other webhook.
 */
@Injectable()
export class SendLoopsService implements OnModuleDestroy {
  private readonly logger = new Logger(SendLoopsService.name);
  private readonly loops = new Map<string, { loop: WebhookSendLoop; ended: Promise<void> }>();
  private readonly stopping = new AbortController();
  private accepting = true;

  constructor(
    private readonly deliveries: DeliveriesService,
    private readonly sender: WebhookSenderService,
    private readonly secrets: SecretsService,
  ) {}

  /** Starts or signals the webhook's loop. Above the limit it does nothing, and the reconciler enqueues again. */
  wake(webhookId: string): void {
    const running = this.loops.get(webhookId);
    if (running) running.loop.signal();
    else if (this.accepting && this.loops.size < MAX_SEND_LOOPS) this.start(webhookId);
  }

  /** The first hook of a shutdown: deliveries finish or are released while Postgres is still connected. */
  async onModuleDestroy(): Promise<void> {
    this.accepting = false;
    for (const { loop } of this.loops.values()) loop.close();
    const allEnded = Promise.allSettled([...this.loops.values()].map(({ ended }) => ended));
    await Promise.race([allEnded, delay(SHUTDOWN_MS, null, { ref: false })]);
    this.stopping.abort();
    await allEnded;
  }

  private start(webhookId: string): void {
    const loop = new WebhookSendLoop({
      claim: (count) => this.deliveries.claim(webhookId, count),
      deliver: (delivery) => this.deliver(delivery),
      release: (delivery) => this.save(delivery, () => this.deliveries.release(delivery)),
    });
    const ended = loop
      .run()
      .catch((error: unknown) => this.logger.warn({ err: error, webhook_id: webhookId }, 'webhook send loop crashed'))
      .finally(() => this.loops.delete(webhookId));
    this.loops.set(webhookId, { loop, ended });
  }

  private async deliver(delivery: ClaimedDelivery): Promise<void> {
    const secret = this.decryptSecret(delivery);
    const outcome = secret === null ? UNREADABLE_SECRET : await this.send(delivery, secret);
    const wasCancelled = this.stopping.signal.aborted && outcome.status === null;
    await this.save(delivery, () =>
      wasCancelled ? this.deliveries.release(delivery) : this.deliveries.record(delivery, outcome),
    );
  }

  private async save({ id }: ClaimedDelivery, write: () => Promise<void>): Promise<void> {
    try {
      await retryWhileUnavailable(write, { signal: this.stopping.signal, ms: RECORD_MS });
    } catch (error) {
      // The lease expires and the delivery is sent again: at-least-once delivery.
      this.logger.warn({ err: error, delivery_id: id }, 'delivery outcome not saved');
    }
  }

  /** Null when the key of the secret is lost. That counts as a failed attempt, so that the retries end. */
  private decryptSecret({ webhookId, encryptedSecret }: ClaimedDelivery): string | null {
    try {
      return this.secrets.decrypt(encryptedSecret, webhookId);
    } catch (error) {
      this.logger.warn({ err: error, webhook_id: webhookId }, 'webhook secret not decrypted');
      return null;
    }
  }

  private async send({ url, eventId, attempt, ...delivery }: ClaimedDelivery, secret: string) {
    const body = Buffer.from(delivery.body);
    const headers = {
      'Content-Type': 'application/json',
      'X-Service-Event-Id': eventId,
      'X-Service-Delivery-Attempt': `${attempt}`,
      ...signDelivery({ secret, eventId, timestampSeconds: Math.floor(Date.now() / 1000), body }),
    };
    return await this.sender.send({ url, headers, body, signal: this.stopping.signal });
  }
}
