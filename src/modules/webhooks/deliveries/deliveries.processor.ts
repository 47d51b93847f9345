import { InjectQueue, OnQueueError, Process, Processor } from '@nestjs/bull';
import type { Job, Queue } from 'bull';
import { QueueWatchdog } from '../../../platform/queue/watchdog.js';
import { DELIVERY_QUEUE, type DeliveryRing } from './delivery-doorbell.js';
import { DeliveryLanes } from './delivery-lanes.js';

/** Answers the doorbell: a ring only opens the webhook's lane, so that no job ever waits for an endpoint. */
@Processor(DELIVERY_QUEUE)
export class DeliveriesProcessor {
  constructor(
    @InjectQueue(DELIVERY_QUEUE) queue: Queue<DeliveryRing>,
    private readonly lanes: DeliveryLanes,
    watchdog: QueueWatchdog,
  ) {
    watchdog.watch(queue, () => false);
  }

  @Process()
  answer(job: Job<DeliveryRing>): void {
    this.lanes.wake(job.data.webhookId);
  }

  /** Redis being away is reported once, by the connection that everybody shares. */
  @OnQueueError()
  ignore(): void {}
}
