import { InjectQueue, OnQueueError, Process, Processor } from '@nestjs/bull';
import type { Job, Queue } from 'bull';
import { QueueWatchdogService } from '../../../platform/queue/queue-watchdog.service.js';
import { DELIVERY_QUEUE, type DeliveryJob } from './delivery-jobs.service.js';
import { SendLoopsService } from './send-loops.service.js';

/** Answers the jobs: a ring only opens the webhook's lane, so that no job ever waits for an endpoint. */
@Processor(DELIVERY_QUEUE)
export class DeliveriesProcessor {
  constructor(
    @InjectQueue(DELIVERY_QUEUE) queue: Queue<DeliveryJob>,
    private readonly lanes: SendLoopsService,
    watchdog: QueueWatchdogService,
  ) {
    watchdog.watch(queue, () => false);
  }

  @Process()
  answer(job: Job<DeliveryJob>): void {
    this.lanes.wake(job.data.webhookId);
  }

  /** Redis being away is reported once, by the connection that everybody shares. */
  @OnQueueError()
  ignore(): void {}
}
