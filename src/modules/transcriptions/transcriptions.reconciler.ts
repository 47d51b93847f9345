import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ReconcilerService } from '../../platform/queue/reconciler.service.js';
import { SearchBackfillService } from '../recordings/search/search-backfill.service.js';
import { RetranscriptionsService } from './retranscriptions.service.js';
import { TranscriptionsService } from './transcriptions.service.js';

/**
 * Indexes the transcriptions of earlier releases for search, and marks those that are to be transcribed again.
 * TranscriptionWorkerService finds what is due.
 */
@Injectable()
export class TranscriptionsReconciler implements OnModuleInit {
  constructor(
    private readonly reconciler: ReconcilerService,
    private readonly backfill: SearchBackfillService,
    private readonly transcriptions: TranscriptionsService,
    private readonly retranscriptions: RetranscriptionsService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('index recordings for search', () =>
      this.backfill.run((ids) => this.transcriptions.textsOf(ids)),
    );
    this.reconciler.register('continue retranscriptions', () => this.retranscriptions.continueAll());
  }
}
