import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Env } from '../../platform/config/env.js';
import { JobQueueModule } from '../../platform/queue/job-queue.module.js';
import { DeliveriesService } from './deliveries/deliveries.service.js';
import { DELIVERY_QUEUE } from './deliveries/deliveries.queue.js';
import { RemovedWebhook } from './deliveries/removed-webhook.entity.js';
import { RemovedWebhooksService } from './deliveries/removed-webhooks.service.js';
import { DeliverySlots } from './deliveries/send-loops/delivery-slots.js';
import { Delivery } from './deliveries/delivery.entity.js';
import { DeliveriesController } from './delivery-log/deliveries.controller.js';
import { DeliveryLogService } from './delivery-log/delivery-log.service.js';
import { RedeliveryPaceService } from './delivery-log/redeliveries/redelivery-pace.service.js';
import { RedeliveriesService } from './delivery-log/redeliveries/redeliveries.service.js';
import { WebhookRedelivery } from './delivery-log/redeliveries/webhook-redelivery.entity.js';
import { TestCallsController } from './delivery-log/test-call/test-calls.controller.js';
import { TestCallsService } from './delivery-log/test-call/test-calls.service.js';
import { SignedSenderService } from './sending/signed-sender.service.js';
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
import { WebhooksReconciler } from './webhooks.reconciler.js';
import { WebhooksService } from './webhooks.service.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([Webhook, WebhookEvent, EventSequence, Delivery, RemovedWebhook, WebhookRedelivery]),
    JobQueueModule.register(DELIVERY_QUEUE),
  ],
  controllers: [WebhooksController, DeliveriesController, TestCallsController, EventFeedController],
  providers: [
    WebhooksService,
    DeliveriesService,
    RemovedWebhooksService,
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
    {
      provide: DeliverySlots,
      inject: [Env],
      useFactory: ({ webhookConnections: connections, webhookConnectionsPerHost: connectionsPerHost }: Env) =>
        new DeliverySlots({ connections, connectionsPerHost }),
    },
  ],
  exports: [DeliveriesService, DeliverySlots, SignedSenderService, WebhookEventsService, JobQueueModule],
})
export class WebhooksModule {}
