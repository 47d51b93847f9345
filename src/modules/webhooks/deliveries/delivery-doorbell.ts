import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { Doorbell } from '../../../platform/queue/doorbell.js';
import { RedisConnection } from '../../../platform/queue/redis.js';

export const DELIVERY_QUEUE = 'deliveries';

/** Names a webhook that has deliveries due: one ring will do for any number of them. */
export interface DeliveryRing {
  [key: string]: string;
  webhookId: string;
}

@Injectable()
export class DeliveryDoorbell extends Doorbell<DeliveryRing> {
  constructor(@InjectQueue(DELIVERY_QUEUE) queue: Queue<DeliveryRing>, redis: RedisConnection) {
    super(queue, redis);
  }
}
