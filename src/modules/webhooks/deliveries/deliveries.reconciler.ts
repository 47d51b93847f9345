import { InjectQueue } from '@nestjs/bull';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import { ReconcilerService } from '../../../platform/reconciler/reconciler.service.js';
import { WebhookEventsService } from '../events/webhook-events.service.js';
import { DELIVERY_QUEUE, type DeliveryJob } from './deliveries.queue.js';
import { DeliveriesService } from './deliveries.service.js';
import { RemovedWebhooksService } from './removed-webhooks.service.js';

/** Enqueues webhooks with due deliveries again, and deletes events past their retention. */
@Injectable()
export class DeliveriesReconciler implements OnModuleInit {
  constructor(
    private readonly reconciler: ReconcilerService,
    private readonly deliveries: DeliveriesService,
    private readonly removedWebhooks: RemovedWebhooksService,
    private readonly events: WebhookEventsService,
    @InjectQueue(DELIVERY_QUEUE) private readonly jobs: JobQueue<DeliveryJob>,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('enqueue due deliveries', () => this.enqueueDue());
    this.reconciler.register('fail deliveries of disabled webhooks', () => this.deliveries.failRemaining());
    this.reconciler.register('delete deliveries of deleted webhooks', () => this.removedWebhooks.deleteRemaining());
    this.reconciler.register('delete old events', () => this.events.deleteOld());
  }

  private async enqueueDue(): Promise<void> {
    for (const webhookId of await this.deliveries.webhooksWithDue()) {
      // Without Redis, RedisOutageReconciler finds them.
      if (!(await this.jobs.enqueue({ webhookId }, { deduplicationKey: 'due' }))) return;
    }
  }
}
