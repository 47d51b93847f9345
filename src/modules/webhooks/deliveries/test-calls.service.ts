import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { findOrFail } from '../../../platform/database/find-or-fail.js';
import { TestInProgressError } from '../../../platform/errors/errors.js';
import { DeliverySlots } from '../sending/delivery-slots.js';
import { testPayload } from '../events/event-payload.js';
import { SignedSenderService } from '../sending/signed-sender.service.js';
import { Webhook } from '../webhook.entity.js';
import type { Attempt } from './delivery.entity.js';

/** How long a test waits for a connection that other deliveries of the account hold. */
const MAX_WAIT_MS = 5000;

export interface TestOutcome {
  eventId: string;
  attempt: Attempt;
}

/**
 * Sends a `webhook.test` event to one webhook and waits for the answer. It is stored nowhere, and changes nothing of the
 * webhook. No connection to Postgres is held meanwhile.
 */
@Injectable()
export class TestCallsService {
  /** Accounts with a test in progress. */
  private readonly inProgress = new Set<string>();

  constructor(
    @InjectRepository(Webhook) private readonly webhooks: Repository<Webhook>,
    private readonly slots: DeliverySlots,
    private readonly sender: SignedSenderService,
  ) {}

  /** @throws NotFoundError, TestInProgressError when the account has another one, or no connection is free */
  async send(accountId: string, id: string): Promise<TestOutcome> {
    const webhook = await findOrFail('webhook', id, () => this.webhooks.findOneBy({ id, accountId }));
    if (this.inProgress.has(accountId)) throw new TestInProgressError();
    this.inProgress.add(accountId);
    try {
      return await this.sendInSlot(webhook);
    } finally {
      this.inProgress.delete(accountId);
    }
  }

  private async sendInSlot(webhook: Webhook): Promise<TestOutcome> {
    const { accountId, url } = webhook;
    const destination = { accountId, host: new URL(url).hostname, isFailing: false };
    const slot = this.slots.take(destination) ?? (await this.slots.wait(destination, AbortSignal.timeout(MAX_WAIT_MS)));
    if (!slot) throw new TestInProgressError();
    try {
      const startedAt = new Date();
      const eventId = uuidv7();
      const body = testPayload(webhook.id, startedAt);
      const unsigned = { ...signedBy(webhook), webhookId: webhook.id, url, eventId, body, attempt: 1 };
      const { errorKind: error, error: reason, status, durationMs, response } = await this.sender.send(unsigned);
      return { eventId, attempt: { number: 1, startedAt, status, error, reason, durationMs, response } };
    } finally {
      slot.release();
    }
  }
}

/** Its secrets, as those of a delivery. */
function signedBy({ encryptedSecret, previousEncryptedSecret, previousSecretUntil }: Webhook) {
  const isValid = previousSecretUntil !== null && previousSecretUntil > new Date();
  return { encryptedSecret, previousEncryptedSecret: isValid ? previousEncryptedSecret : null };
}
