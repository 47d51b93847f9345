import { InjectQueue } from '@nestjs/bull';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import { ReconcilerService } from '../../../platform/queue/reconciler.service.js';
import { RecordingLeasesService } from '../../recordings/leases/recording-leases.service.js';
import { TRANSCRIPTION_QUEUE, type TranscriptionJob } from '../transcriptions.queue.js';

/** Enqueues overdue recordings again, and fails those whose attempts are used up. */
@Injectable()
export class TranscriptionsReconciler implements OnModuleInit {
  constructor(
    private readonly reconciler: ReconcilerService,
    private readonly leases: RecordingLeasesService,
    @InjectQueue(TRANSCRIPTION_QUEUE) private readonly jobs: JobQueue<TranscriptionJob>,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('fail exhausted recordings', () => this.leases.failExhausted());
    this.reconciler.register('enqueue overdue recordings', () => this.enqueueOverdue());
  }

  private async enqueueOverdue(): Promise<void> {
    for (const { id, attempt } of await this.leases.overdue()) {
      await this.jobs.enqueue({ recordingId: id }, { deduplicationKey: `overdue-${attempt}` });
    }
  }
}
