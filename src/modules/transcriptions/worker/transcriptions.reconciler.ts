import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ReconcilerService } from '../../../platform/queue/reconciler.service.js';
import { RecordingLeasesService } from '../../recordings/leases/recording-leases.service.js';
import { TranscriptionJobsService } from '../transcription-jobs.service.js';

/** Enqueues overdue recordings again, and fails those whose attempts are used up. */
@Injectable()
export class TranscriptionsReconciler implements OnModuleInit {
  constructor(
    private readonly reconciler: ReconcilerService,
    private readonly leases: RecordingLeasesService,
    private readonly jobs: TranscriptionJobsService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('fail exhausted recordings', () => this.leases.failExhausted());
    this.reconciler.register('enqueue overdue recordings', () => this.enqueueOverdue());
  }

  private async enqueueOverdue(): Promise<void> {
    for (const { id, attempt } of await this.leases.overdue()) {
      await this.jobs.ring({ recordingId: id }, `overdue-${attempt}`);
    }
  }
}
