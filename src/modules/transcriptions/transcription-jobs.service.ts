import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { JobQueue } from '../../platform/queue/job-queue.js';
import { RedisService } from '../../platform/queue/redis.service.js';

export const TRANSCRIPTION_QUEUE = 'transcriptions';

/** Only the id: the state of the recording is in its row. */
export interface TranscriptionJob {
  [key: string]: string;
  recordingId: string;
}

@Injectable()
export class TranscriptionJobsService extends JobQueue<TranscriptionJob> {
  constructor(@InjectQueue(TRANSCRIPTION_QUEUE) queue: Queue<TranscriptionJob>, redis: RedisService) {
    super(queue, redis);
  }
}
