import { BullModule } from '@nestjs/bull';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DeliveriesProcessor } from './deliveries/deliveries.processor.js';
import { DeliveriesReconciler } from './deliveries/deliveries.reconciler.js';
import { DeliveriesService } from './deliveries/deliveries.service.js';
import { DELIVERY_QUEUE, DeliveryDoorbell } from './deliveries/delivery-doorbell.js';
import { DeliveryLanes } from './deliveries/delivery-lanes.js';
import { Delivery } from './deliveries/delivery.entity.js';
import { WebhookSender } from './deliveries/sender.js';
import { Event } from './event.entity.js';
import { Webhook } from './webhook.entity.js';
import { WebhookSecretsService } from './webhook-secrets.service.js';
import { WebhooksController } from './webhooks.controller.js';
import { WebhooksListener } from './webhooks.listener.js';
import { WebhooksService } from './webhooks.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Webhook, Event, Delivery]), BullModule.registerQueue({ name: DELIVERY_QUEUE })],
  controllers: [WebhooksController],
  providers: [WebhooksService, WebhookSecretsService, DeliveriesService, DeliveryDoorbell, WebhooksListener],
  exports: [DeliveriesService, DeliveryDoorbell, BullModule],
})
export class WebhooksModule {}

/** What only a worker does: it sends. */
@Module({
  imports: [WebhooksModule],
  providers: [WebhookSender, DeliveryLanes, DeliveriesProcessor, DeliveriesReconciler],
})
export class DeliveryWorkModule {}
