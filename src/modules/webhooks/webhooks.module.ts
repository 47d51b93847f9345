import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JobQueueModule } from '../../platform/queue/job-queue.module.js';
import { CallbacksController } from './callbacks/callbacks.controller.js';
import { CallbacksService } from './callbacks/callbacks.service.js';
import { DeliveriesProcessor } from './sending/deliveries.processor.js';
import { DeliveriesService, DELIVERY_QUEUE } from './deliveries/deliveries.service.js';
import { Delivery, WebhookRedelivery } from './deliveries/delivery.entity.js';
import { RemovedWebhooksService } from './deliveries/removed-webhooks.service.js';
import { DeliverySlots } from './sending/delivery-slots.js';
import { SendLoopsService } from './sending/send-loops.service.js';
import { DeliveriesController } from './deliveries/deliveries.controller.js';
import { DeliveryLogService } from './deliveries/delivery-log.service.js';
import { RedeliveriesService, RedeliveryPaceService } from './deliveries/redeliveries.service.js';
import { TestCallsController } from './deliveries/test-calls.controller.js';
import { TestCallsService } from './deliveries/test-calls.service.js';
import { EventSequence, WebhookEvent } from './events/webhook-event.entity.js';
import { WebhookEventsListener } from './events/webhook-events.listener.js';
import { WebhookEventsService } from './events/webhook-events.service.js';
import { EventFeedController } from './events/event-feed.controller.js';
import { EventTypesController } from './events/event-types.controller.js';
import { EventFeedService } from './events/event-feed.service.js';
import { EventSignalsService } from './events/event-signals.service.js';
import { EventStreamsService } from './events/event-streams.service.js';
import { SignedSenderService } from './sending/signed-sender.service.js';
import { WebhookSenderService } from './sending/webhook-sender.service.js';
import { RemovedWebhook, Webhook } from './webhook.entity.js';
import { WebhooksController } from './webhooks.controller.js';
import { WebhooksReconciler } from './webhooks.reconciler.js';
import { WebhooksService } from './webhooks.service.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([Webhook, WebhookEvent, EventSequence, Delivery, RemovedWebhook, WebhookRedelivery]),
    JobQueueModule.register(DELIVERY_QUEUE),
  ],
  controllers: [
    WebhooksController,
    CallbacksController,
    DeliveriesController,
    TestCallsController,
    EventFeedController,
    EventTypesController,
  ],
  providers: [
    WebhooksService,
    DeliveriesService,
    RemovedWebhooksService,
    CallbacksService,
    WebhookEventsService,
    WebhookEventsListener,
    DeliveryLogService,
    RedeliveriesService,
    RedeliveryPaceService,
    WebhooksReconciler,
    TestCallsService,
    EventFeedService,
    EventSignalsService,
    EventStreamsService,
    WebhookSenderService,
    SignedSenderService,
    DeliverySlots,
  ],
  exports: [DeliveriesService, DeliverySlots, SignedSenderService, WebhookEventsService, JobQueueModule],
})
export class WebhooksModule {}

/** What only a process with the role `deliverer` runs. */
@Module({
  imports: [WebhooksModule],
  providers: [SendLoopsService, DeliveriesProcessor],
})
export class DeliveryWorkerModule {}
