import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { retryWhileUnavailable } from '../../../platform/database/unavailable.js';
import { SecretsService } from '../../../platform/secrets/secrets.service.js';
import { type ClaimedDelivery, DeliveriesService } from './deliveries.service.js';
import { WebhookSendLoop } from './webhook-send-loop.js';
import { type DeliveryOutcome, WebhookSenderService } from '../sending/webhook-sender.service.js';
import { signDelivery } from '../sending/signature.js';

/** Webhooks that are served at the same time; bounds the sockets of the process. */
const MAX_SEND_LOOPS = 250;
/** What the longest attempt leaves of the lease: so long an answer is kept while Postgres is away. */
const RECORD_MS = 10_000;
/** What is under way when the process is asked to stop may take so long to end well. */
const STOP_MS = 5000;

/** For the webhook's owner, who can put it right as well as the operator can. */
const UNREADABLE: DeliveryOutcome = {
  status: null,
  error: "the webhook's secret cannot be read: set a new one",
  retryAfter: null,
  durationMs: 0,
};

/**
 * A lane for each webhook that has deliveries due: it sends them a few at a time until there are none, so that a slow
 * or dead endpoint holds up nobody but itself.
 */
@Injectable()
export class SendLoopsService implements OnModuleDestroy {
  private readonly logger = new Logger(SendLoopsService.name);
  private readonly lanes = new Map<string, { lane: WebhookSendLoop; ended: Promise<void> }>();
  private readonly stopping = new AbortController();
  private accepting = true;

  constructor(
    private readonly deliveries: DeliveriesService,
    private readonly sender: WebhookSenderService,
    private readonly secrets: SecretsService,
  ) {}

  /** Opens the webhook's lane, or has it look again. What finds no place now is rung for again by the reconciler. */
  wake(webhookId: string): void {
    const open = this.lanes.get(webhookId);
    if (open) open.lane.ring();
    else if (this.accepting && this.lanes.size < MAX_SEND_LOOPS) this.open(webhookId);
  }

  /** The first hook of a stop: what is under way ends or goes back while Postgres is still there to write it down. */
  async onModuleDestroy(): Promise<void> {
    this.accepting = false;
    for (const { lane } of this.lanes.values()) lane.close();
    const allEnded = Promise.allSettled([...this.lanes.values()].map(({ ended }) => ended));
    await Promise.race([allEnded, delay(STOP_MS, null, { ref: false })]);
    this.stopping.abort();
    await allEnded;
  }

  private open(webhookId: string): void {
    const lane = new WebhookSendLoop({
      claim: (count) => this.deliveries.claim(webhookId, count),
      deliver: (delivery) => this.deliver(delivery),
      release: (delivery) => this.conclude(delivery, () => this.deliveries.release(delivery)),
    });
    const ended = lane
      .serve()
      .catch((error: unknown) => this.logger.warn({ err: error, webhook_id: webhookId }, 'a delivery lane broke off'))
      .finally(() => this.lanes.delete(webhookId));
    this.lanes.set(webhookId, { lane, ended });
  }

  private async deliver(delivery: ClaimedDelivery): Promise<void> {
    const secret = this.secretOf(delivery);
    const outcome = secret === null ? UNREADABLE : await this.send(delivery, secret);
    const isUntried = this.stopping.signal.aborted && outcome.status === null;
    await this.conclude(delivery, () =>
      isUntried ? this.deliveries.release(delivery) : this.deliveries.record(delivery, outcome),
    );
  }

  private async conclude({ id }: ClaimedDelivery, write: () => Promise<void>): Promise<void> {
    try {
      await retryWhileUnavailable(write, { signal: this.stopping.signal, ms: RECORD_MS });
    } catch (error) {
      // The lease runs out, and the delivery is due again: rather twice than never.
      this.logger.warn({ err: error, delivery_id: id }, 'the outcome of a delivery could not be written down');
    }
  }

  /** Null for a secret under a lost key: an attempt that failed, so that it is tried by schedule and has an end. */
  private secretOf({ webhookId, encryptedSecret }: ClaimedDelivery): string | null {
    try {
      return this.secrets.decrypt(encryptedSecret, webhookId);
    } catch (error) {
      this.logger.warn({ err: error, webhook_id: webhookId }, "a webhook's secret cannot be decrypted");
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
