import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ReconcilerService } from '../../../platform/queue/reconciler.service.js';
import { DeliveriesService } from './deliveries.service.js';
import { DeliveryJobsService } from './delivery-jobs.service.js';

/** Rings again for deliveries that are due, and forgets events past their retention. */
@Injectable()
export class DeliveriesReconciler implements OnModuleInit {
  constructor(
    private readonly reconciler: ReconcilerService,
    private readonly deliveries: DeliveriesService,
    private readonly jobs: DeliveryJobsService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('ring for deliveries', () => this.ringAgain());
    this.reconciler.register('fail deliveries of disabled webhooks', () => this.deliveries.failOrphaned());
    this.reconciler.register('forget old events', () => this.deliveries.forgetOldEvents());
  }

  private async ringAgain(): Promise<void> {
    for (const webhookId of await this.deliveries.webhooksWithDue()) await this.jobs.ring({ webhookId }, 'due');
  }
}
