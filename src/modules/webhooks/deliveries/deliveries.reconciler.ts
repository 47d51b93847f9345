import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Reconciler } from '../../../platform/queue/reconciler.js';
import { DeliveriesService } from './deliveries.service.js';
import { DeliveryDoorbell } from './delivery-doorbell.js';

/** Rings again for deliveries that are due, and forgets events past their retention. */
@Injectable()
export class DeliveriesReconciler implements OnModuleInit {
  constructor(
    private readonly reconciler: Reconciler,
    private readonly deliveries: DeliveriesService,
    private readonly doorbell: DeliveryDoorbell,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('ring for deliveries', () => this.ringAgain());
    this.reconciler.register('fail deliveries of disabled webhooks', () => this.deliveries.failOrphaned());
    this.reconciler.register('forget old events', () => this.deliveries.forgetOldEvents());
  }

  private async ringAgain(): Promise<void> {
    for (const webhookId of await this.deliveries.webhooksWithDue()) await this.doorbell.ring({ webhookId }, 'due');
  }
}
