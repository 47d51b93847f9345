import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { DatabaseService } from '../../platform/database/database.service.js';
import { ReconcilerService } from '../../platform/queue/reconciler.service.js';
import type { Unsubscribe } from '../../platform/redis/signals.service.js';
import { LiveAssemblerService } from './live-assembler.service.js';
import { endAbandoned } from './live-assemblies.queries.js';
import { LiveFilesService } from './live-files.service.js';
import { LiveRecordingsService } from './live-recordings.service.js';
import { LiveSignalsService } from './live-signals.service.js';

/**
 * Ends live recordings that get no audio any more, has their files made, and deletes what is left of them. A signal wakes
 * the assembler at once. It may get lost, so every deliverer also looks every RECONCILE_SECONDS.
 */
@Injectable()
export class LiveReconciler implements OnModuleInit, OnModuleDestroy {
  private unsubscribe: Unsubscribe | undefined;

  constructor(
    private readonly database: DatabaseService,
    private readonly live: LiveRecordingsService,
    private readonly files: LiveFilesService,
    private readonly assembler: LiveAssemblerService,
    private readonly signals: LiveSignalsService,
    private readonly reconciler: ReconcilerService,
  ) {}

  onModuleInit(): void {
    const { reconciler } = this;
    reconciler.register('make files of live recordings', async () => this.assembler.wake(), { everyProcess: true });
    reconciler.register('end abandoned live recordings', () => this.endAbandoned());
    reconciler.register('delete audio of live recordings', async () => {
      await this.files.deleteAssembled();
      await this.files.deleteLeft();
    });
    this.unsubscribe = this.signals.onEnd(() => this.assembler.wake());
  }

  onModuleDestroy(): void {
    this.unsubscribe?.();
  }

  private async endAbandoned(): Promise<void> {
    for (const id of await endAbandoned(this.database)) this.live.announceEnd(id, 'abandoned');
  }
}
