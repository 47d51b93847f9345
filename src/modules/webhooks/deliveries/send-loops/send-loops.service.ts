import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Env } from '../../../../platform/config/env.js';
import { retryWhileUnavailable } from '../../../../platform/database/unavailable.js';
import { MetricsMiddleware } from '../../../../platform/observability/metrics.middleware.js';
import { ConcurrencyLimit } from '../../../../platform/queue/concurrency-limit.js';
import { SecretsService } from '../../../../platform/secrets/secrets.service.js';
import { signDelivery } from '../../sending/signature.js';
import { type DeliveryOutcome, isSuccess, WebhookSenderService } from '../../sending/webhook-sender.service.js';
import type { ClaimedDelivery } from '../deliveries.queries.js';
import { DeliveriesService } from '../deliveries.service.js';
import { DeliverySlots } from './delivery-slots.js';
import { WebhookSendLoop } from './webhook-send-loop.js';

/** Webhooks served at the same time. Most of so many would wait for a slot, which bounds the sockets of the process. */
const MAX_SEND_LOOPS = 10_000;
/** Claims at the same time: less than half of the connections to Postgres. */
const MAX_CLAIMS = 8;
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
  private readonly slots: DeliverySlots;
  private readonly claims = new ConcurrencyLimit(MAX_CLAIMS);
  private accepting = true;

  constructor(
    private readonly deliveries: DeliveriesService,
    private readonly sender: WebhookSenderService,
    private readonly secrets: SecretsService,
    env: Env,
    metrics: MetricsMiddleware,
  ) {
    this.slots = new DeliverySlots({
      connections: env.webhookConnections,
      connectionsPerHost: env.webhookConnectionsPerHost,
    });
    for (const gauge of gaugesOf(this.slots)) metrics.registry.registerMetric(gauge);
  }

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
    const callbacks = {
      claim: (count: number) => this.claims.run(() => this.deliveries.claim(webhookId, count)),
      deliver: (delivery: ClaimedDelivery) => this.deliver(delivery),
      release: (delivery: ClaimedDelivery) => this.save(delivery, () => this.deliveries.release(delivery)),
    };
    const loop = new WebhookSendLoop(callbacks, this.slots);
    const ended = loop
      .run()
      .catch((error: unknown) => this.logger.warn({ err: error, webhook_id: webhookId }, 'webhook send loop crashed'))
      .finally(() => this.loops.delete(webhookId));
    this.loops.set(webhookId, { loop, ended });
  }

  /** @returns whether the receiver accepted it. */
  private async deliver(delivery: ClaimedDelivery): Promise<boolean> {
    const secret = this.decryptSecret(delivery.webhookId, delivery.encryptedSecret);
    const outcome = secret === null ? UNREADABLE_SECRET : await this.send(delivery, secret);
    const wasCancelled = this.stopping.signal.aborted && outcome.status === null;
    await this.save(delivery, () =>
      wasCancelled ? this.deliveries.release(delivery) : this.deliveries.record(delivery, outcome),
    );
    return outcome.status !== null && isSuccess(outcome.status);
  }

  private async save({ id }: ClaimedDelivery, write: () => Promise<void>): Promise<void> {
    try {
      await retryWhileUnavailable(write, { signal: this.stopping.signal });
    } catch (error) {
      // It will be sent again: at-least-once delivery.
      this.logger.warn({ err: error, delivery_id: id }, 'delivery outcome not saved');
    }
  }

  /** Null when the key of the secret is lost. That counts as a failed attempt, so that the retries end. */
  private decryptSecret(webhookId: string, encryptedSecret: string): string | null {
    try {
      return this.secrets.decrypt(encryptedSecret, webhookId);
    } catch (error) {
      this.logger.warn({ err: error, webhook_id: webhookId }, 'webhook secret not decrypted');
      return null;
    }
  }

  private async send({ url, eventId, attempt, ...delivery }: ClaimedDelivery, secret: string) {
    const body = Buffer.from(delivery.body);
    const { webhookId, previousEncryptedSecret: previous } = delivery;
    const previousSecret = previous === null ? null : this.decryptSecret(webhookId, previous);
    const headers = {
      'Content-Type': 'application/json',
      'X-Service-Event-Id': eventId,
      'X-Service-Delivery-Attempt': `${attempt}`,
      ...signDelivery({ secret, previousSecret, eventId, timestampSeconds: Math.floor(Date.now() / 1000), body }),
    };
    return await this.sender.send({ url, headers, body, signal: this.stopping.signal });
  }
}

function gaugesOf(slots: DeliverySlots): Gauge[] {
  return [
    new Gauge({
      name: 'webhook_connections',
      help: 'Deliveries that this process is sending.',
      registers: [],
      collect() {
        this.set(slots.used);
      },
    }),
    new Gauge({
      name: 'webhooks_waiting',
      help: 'Webhooks with due deliveries that wait for a free connection (D34).',
      registers: [],
      collect() {
        this.set(slots.waiting);
      },
    }),
  ];
}
