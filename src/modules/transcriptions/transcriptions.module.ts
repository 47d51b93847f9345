import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JobQueueModule } from '../../platform/queue/job-queue.module.js';
import { RecordingsModule } from '../recordings/recordings.module.js';
import { CorrectionsController } from './corrections/corrections.controller.js';
import { CorrectionsService } from './corrections/corrections.service.js';
import { RunningEnginesService } from './engines/running/running-engines.service.js';
import { WaitingRecordingsService } from './engines/running/waiting-recordings.service.js';
import { TranscriptExportsService } from './exports/transcript-exports.service.js';
import { Transcription } from './transcription.entity.js';
import { Retranscription } from './retranscriptions/retranscription.entity.js';
import { RetranscriptionsService } from './retranscriptions/retranscriptions.service.js';
import { TranscriptionsController } from './transcriptions.controller.js';
import { TranscriptionsListener } from './transcriptions.listener.js';
import { TRANSCRIPTION_QUEUE } from './transcriptions.queue.js';
import { TranscriptionsReconciler } from './transcriptions.reconciler.js';
import { TranscriptSignalsService } from './transcript-signals.service.js';
import { TranscriptionsService } from './transcriptions.service.js';
import { EarlierTranscription } from './versions/earlier-transcription.entity.js';
import { VersionsController } from './versions/versions.controller.js';
import { VersionsService } from './versions/versions.service.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([Transcription, EarlierTranscription, Retranscription]),
    JobQueueModule.register(TRANSCRIPTION_QUEUE),
    RecordingsModule,
  ],
  controllers: [TranscriptionsController, CorrectionsController, VersionsController],
  providers: [
    CorrectionsService,
    RetranscriptionsService,
    RunningEnginesService,
    TranscriptExportsService,
    TranscriptionsService,
    TranscriptSignalsService,
    TranscriptionsListener,
    TranscriptionsReconciler,
    VersionsService,
    WaitingRecordingsService,
  ],
  exports: [
    JobQueueModule,
    RunningEnginesService,
    TranscriptExportsService,
    TranscriptionsService,
    TranscriptSignalsService,
  ],
})
export class TranscriptionsModule {}
