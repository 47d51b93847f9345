import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ReconcilerService } from '../../../platform/reconciler/reconciler.service.js';
import { RedisService } from '../../../platform/redis/redis.service.js';
import { DeliveriesService } from './deliveries.service.js';
import { SendLoopsService } from './send-loops/send-loops.service.js';

/** Sends due deliveries without Redis: every process that sends looks for them itself. */
@Injectable()
export class RedisOutageReconciler implements OnModuleInit {
  constructor(
    private readonly reconciler: ReconcilerService,
    private readonly redis: RedisService,
    private readonly deliveries: DeliveriesService,
    private readonly loops: SendLoopsService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('send due deliveries without redis', () => this.wakeAll(), { everyProcess: true });
  }

  private async wakeAll(): Promise<void> {
    if (await this.redis.isUsable()) return;
    for (const webhookId of await this.deliveries.webhooksWithDue()) this.loops.wake(webhookId);
  }
}
