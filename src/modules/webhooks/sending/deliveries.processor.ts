import { OnQueueCompleted, Process, Processor } from '@nestjs/bull';
import type { Job } from 'bull';
import { DELIVERY_QUEUE, type DeliveryJob } from '../deliveries/deliveries.service.js';
import { SendLoopsService } from './send-loops.service.js';

/** Each job costs two short trips to Redis: one after the other, hundreds of webhooks that hang would delay the next. */
const CONCURRENCY = 16;

/** A job only wakes the webhook's send loop, so that no job waits for an endpoint. */
@Processor(DELIVERY_QUEUE)
export class DeliveriesProcessor {
  constructor(private readonly loops: SendLoopsService) {}

  /** Nothing: the job has to leave Redis first. */
  @Process({ concurrency: CONCURRENCY })
  process(): void {}

  /** While it was in Redis others of its webhook were dropped. What they stood for is committed, so the loop finds it now. */
  @OnQueueCompleted()
  wake(job: Job<DeliveryJob>): void {
    this.loops.wake(job.data.webhookId);
  }
}
