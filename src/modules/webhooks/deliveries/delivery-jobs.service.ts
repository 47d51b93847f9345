import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { JobQueue } from '../../../platform/queue/job-queue.js';
import { RedisService } from '../../../platform/queue/redis.service.js';

export const DELIVERY_QUEUE = 'deliveries';

/** Names a webhook that has deliveries due: one ring will do for any number of them. */
export interface DeliveryJob {
  [key: string]: string;
  webhookId: string;
}

@Injectable()
export class DeliveryJobsService extends JobQueue<DeliveryJob> {
  constructor(@InjectQueue(DELIVERY_QUEUE) queue: Queue<DeliveryJob>, redis: RedisService) {
    super(queue, redis);
  }
}
