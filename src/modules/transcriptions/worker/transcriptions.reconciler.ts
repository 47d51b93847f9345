import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ReconcilerService } from '../../../platform/queue/reconciler.service.js';
import { RecordingLeasesService } from '../../recordings/leases/recording-leases.service.js';
import { TranscriptionJobsService } from '../transcription-jobs.service.js';

/** Rings again for recordings that are owed a transcription though nobody is at it. */
@Injectable()
export class TranscriptionsReconciler implements OnModuleInit {
  constructor(
    private readonly reconciler: ReconcilerService,
    private readonly processing: RecordingLeasesService,
    private readonly jobs: TranscriptionJobsService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('fail hopeless recordings', () => this.processing.failExhausted());
    this.reconciler.register('ring for recordings', () => this.ringAgain());
  }

  private async ringAgain(): Promise<void> {
    for (const { id, attempt } of await this.processing.overdue()) {
      await this.jobs.ring({ recordingId: id }, `overdue-${attempt}`);
    }
  }
}
