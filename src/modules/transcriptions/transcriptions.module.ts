import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JobQueueModule } from '../../platform/queue/job-queue.module.js';
import { RecordingsModule } from '../recordings/recordings.module.js';
import { CorrectionsController } from './corrections/corrections.controller.js';
import { CorrectionsService } from './corrections/corrections.service.js';
import { TranscriptExportsService } from './exports/transcript-exports.service.js';
import { Transcription } from './transcription.entity.js';
import { TranscriptionsController } from './transcriptions.controller.js';
import { TranscriptionsListener } from './transcriptions.listener.js';
import { TRANSCRIPTION_QUEUE } from './transcriptions.queue.js';
import { TranscriptionsReconciler } from './worker/transcriptions.reconciler.js';
import { TranscriptSignalsService } from './transcript-signals.service.js';
import { TranscriptionsService } from './transcriptions.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Transcription]), JobQueueModule.register(TRANSCRIPTION_QUEUE), RecordingsModule],
  controllers: [TranscriptionsController, CorrectionsController],
  providers: [
    CorrectionsService,
    TranscriptExportsService,
    TranscriptionsService,
    TranscriptSignalsService,
    TranscriptionsListener,
    TranscriptionsReconciler,
  ],
  exports: [JobQueueModule, TranscriptExportsService, TranscriptionsService, TranscriptSignalsService],
})
export class TranscriptionsModule {}
