import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ReconcilerService } from '../../platform/queue/reconciler.service.js';
import { DeliveriesService } from './deliveries/deliveries.service.js';
import { RemovedWebhooksService } from './deliveries/removed-webhooks.service.js';
import { RedeliveriesService } from './deliveries/redeliveries.service.js';
import { WebhookEventsService } from './events/webhook-events.service.js';
import { EventFeedService } from './events/event-feed.service.js';

/** What requests leave for later, one batch after the other. */
@Injectable()
export class WebhooksReconciler implements OnModuleInit {
  constructor(
    private readonly reconciler: ReconcilerService,
    private readonly deliveries: DeliveriesService,
    private readonly removedWebhooks: RemovedWebhooksService,
    private readonly redeliveries: RedeliveriesService,
    private readonly events: WebhookEventsService,
    private readonly feed: EventFeedService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('fail deliveries of disabled webhooks', () => this.deliveries.failRemaining());
    this.reconciler.register('delete deliveries of deleted webhooks', () => this.removedWebhooks.deleteRemaining());
    this.reconciler.register('continue redeliveries', () => this.redeliveries.continueAll());
    this.reconciler.register('delete old events', () => this.events.deleteOld());
    this.reconciler.register('number events', () => this.feed.numberRemaining());
  }
}
