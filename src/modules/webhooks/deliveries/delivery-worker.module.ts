import { Module } from '@nestjs/common';
import { WebhooksModule } from '../webhooks.module.js';
import { DeliveriesProcessor } from './deliveries.processor.js';
import { SendLoopsService } from './send-loops/send-loops.service.js';

/** What only a process with the role `deliverer` runs. */
@Module({
  imports: [WebhooksModule],
  providers: [SendLoopsService, DeliveriesProcessor],
})
export class DeliveryWorkerModule {}
