import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JobQueueModule } from '../../platform/queue/job-queue.module.js';
import { DeliveriesProcessor } from './deliveries/deliveries.processor.js';
import { DeliveriesReconciler } from './deliveries/deliveries.reconciler.js';
import { DeliveriesService } from './deliveries/deliveries.service.js';
import { DELIVERY_QUEUE } from './deliveries/deliveries.queue.js';
import { DueDeliveriesReconciler } from './deliveries/due-deliveries.reconciler.js';
import { RemovedWebhook } from './deliveries/removed-webhook.entity.js';
import { SendLoopsService } from './deliveries/send-loops/send-loops.service.js';
import { Delivery } from './deliveries/delivery.entity.js';
import { WebhookSenderService } from './sending/webhook-sender.service.js';
import { WebhookEvent } from './events/webhook-event.entity.js';
import { Webhook } from './webhook.entity.js';
import { WebhooksController } from './webhooks.controller.js';
import { EventSequence } from './events/event-sequence.entity.js';
import { WebhookEventsListener } from './events/webhook-events.listener.js';
import { WebhookEventsService } from './events/webhook-events.service.js';
import { EventFeedController } from './feed/event-feed.controller.js';
import { EventFeedService } from './feed/event-feed.service.js';
import { EventSignalsService } from './feed/event-signals.service.js';
import { EventStreamsService } from './feed/streams/event-streams.service.js';
import { WebhooksService } from './webhooks.service.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([Webhook, WebhookEvent, EventSequence, Delivery, RemovedWebhook]),
    JobQueueModule.register(DELIVERY_QUEUE),
  ],
  controllers: [WebhooksController, EventFeedController],
  providers: [
    WebhooksService,
    DeliveriesService,
    WebhookEventsService,
    WebhookEventsListener,
    DeliveriesReconciler,
    EventFeedService,
    EventSignalsService,
    EventStreamsService,
  ],
  exports: [DeliveriesService, WebhookEventsService, JobQueueModule],
})
export class WebhooksModule {}

/** What only a process with the role `deliverer` runs. */
@Module({
  imports: [WebhooksModule],
  providers: [WebhookSenderService, SendLoopsService, DeliveriesProcessor, DueDeliveriesReconciler],
})
export class DeliveryWorkerModule {}
