import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { Doorbell } from '../../platform/queue/doorbell.js';
import { RedisConnection } from '../../platform/queue/redis.js';

export const TRANSCRIPTION_QUEUE = 'transcriptions';

/** Names the row to look at; what is to be done stands in the row. */
export interface TranscriptionRing {
  [key: string]: string;
  recordingId: string;
}

@Injectable()
export class TranscriptionDoorbell extends Doorbell<TranscriptionRing> {
  constructor(@InjectQueue(TRANSCRIPTION_QUEUE) queue: Queue<TranscriptionRing>, redis: RedisConnection) {
    super(queue, redis);
  }
}
