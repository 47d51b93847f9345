import { BullModule } from '@nestjs/bull';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Env } from '../../platform/config/env.js';
import { HealthService } from '../../platform/observability/health.service.js';
import { RecordingsModule } from '../recordings/recordings.module.js';
import { createEngine } from './engines/engine.factory.js';
import { TRANSCRIPTION_ENGINE } from './engines/transcription-engine.js';
import { TranscriberService } from './worker/transcriber.service.js';
import { TRANSCRIPTION_QUEUE, TranscriptionJobsService } from './transcription-jobs.service.js';
import { TranscriptionRunService } from './worker/transcription-run.service.js';
import { Transcription } from './transcription.entity.js';
import { TranscriptionsController } from './transcriptions.controller.js';
import { TranscriptionsListener } from './transcriptions.listener.js';
import { TranscriptionsProcessor } from './worker/transcriptions.processor.js';
import { TranscriptionsReconciler } from './worker/transcriptions.reconciler.js';
import { TranscriptionsService } from './transcriptions.service.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([Transcription]),
    BullModule.registerQueue({ name: TRANSCRIPTION_QUEUE }),
    RecordingsModule,
  ],
  controllers: [TranscriptionsController],
  providers: [TranscriptionsService, TranscriptionsListener, TranscriptionJobsService],
  exports: [TranscriptionJobsService, BullModule],
})
export class TranscriptionsModule {}

/** What only a worker does: it holds the engine. */
@Module({
  imports: [TranscriptionsModule, RecordingsModule],
  providers: [
    { provide: TRANSCRIPTION_ENGINE, inject: [Env], useFactory: createEngine },
    TranscriberService,
    TranscriptionRunService,
    TranscriptionsProcessor,
    TranscriptionsReconciler,
  ],
})
export class TranscriptionWorkModule {
  /** A worker without an engine is not ready, and says what to install. */
  constructor(health: HealthService, transcriber: TranscriberService) {
    health.require('engine', () => transcriber.problem());
  }
}
