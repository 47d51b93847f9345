import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ReconcilerService } from '../../../../platform/reconciler/reconciler.service.js';
import { RedeliveriesService } from './redeliveries.service.js';

/** Continues redeliveries of many after their first batch, also when the process that began one has died. */
@Injectable()
export class RedeliveriesReconciler implements OnModuleInit {
  constructor(
    private readonly reconciler: ReconcilerService,
    private readonly redeliveries: RedeliveriesService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('continue redeliveries', () => this.redeliveries.continueAll());
  }
}
