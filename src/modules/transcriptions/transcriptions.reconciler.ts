import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Reconciler } from '../../platform/queue/reconciler.js';
import { ProcessingService } from '../recordings/processing.service.js';
import { TranscriptionDoorbell } from './transcription-doorbell.js';

/** Rings again for recordings that are owed a transcription though nobody is at it. */
@Injectable()
export class TranscriptionsReconciler implements OnModuleInit {
  constructor(
    private readonly reconciler: Reconciler,
    private readonly processing: ProcessingService,
    private readonly doorbell: TranscriptionDoorbell,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('fail hopeless recordings', () => this.processing.failHopeless());
    this.reconciler.register('ring for recordings', () => this.ringAgain());
  }

  private async ringAgain(): Promise<void> {
    for (const { id, attempt } of await this.processing.owed()) {
      await this.doorbell.ring({ recordingId: id }, `owed-${attempt}`);
    }
  }
}
