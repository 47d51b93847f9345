import { BullModule } from '@nestjs/bull';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Env } from '../../platform/config/env.js';
import { Health } from '../../platform/observability/health.js';
import { RecordingsModule } from '../recordings/recordings.module.js';
import { createEngine } from './engines/engine.factory.js';
import { TRANSCRIPTION_ENGINE } from './engines/transcription-engine.js';
import { Transcriber } from './transcriber.js';
import { TRANSCRIPTION_QUEUE, TranscriptionDoorbell } from './transcription-doorbell.js';
import { TranscriptionRun } from './transcription-run.js';
import { Transcription } from './transcription.entity.js';
import { TranscriptionsController } from './transcriptions.controller.js';
import { TranscriptionsListener } from './transcriptions.listener.js';
import { TranscriptionsProcessor } from './transcriptions.processor.js';
import { TranscriptionsReconciler } from './transcriptions.reconciler.js';
import { TranscriptionsService } from './transcriptions.service.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([Transcription]),
    BullModule.registerQueue({ name: TRANSCRIPTION_QUEUE }),
    RecordingsModule,
  ],
  controllers: [TranscriptionsController],
  providers: [TranscriptionsService, TranscriptionsListener, TranscriptionDoorbell],
  exports: [TranscriptionDoorbell, BullModule],
})
export class TranscriptionsModule {}

/** What only a worker does: it holds the engine. */
@Module({
  imports: [TranscriptionsModule, RecordingsModule],
  providers: [
    { provide: TRANSCRIPTION_ENGINE, inject: [Env], useFactory: createEngine },
    Transcriber,
    TranscriptionRun,
    TranscriptionsProcessor,
    TranscriptionsReconciler,
  ],
})
export class TranscriptionWorkModule {
  /** A worker without an engine is not ready, and says what to install. */
  constructor(health: Health, transcriber: Transcriber) {
    health.require('engine', () => transcriber.problem());
  }
}
