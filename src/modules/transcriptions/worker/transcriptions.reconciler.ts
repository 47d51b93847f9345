import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ReconcilerService } from '../../../platform/queue/reconciler.service.js';
import { RecordingLeasesService } from '../../recordings/leases/recording-leases.service.js';

/** Fails recordings whose attempts are used up. TranscriptionWorkerService finds what is due. */
@Injectable()
export class TranscriptionsReconciler implements OnModuleInit {
  constructor(
    private readonly reconciler: ReconcilerService,
    private readonly leases: RecordingLeasesService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('fail exhausted recordings', () => this.leases.failExhausted());
  }
}
