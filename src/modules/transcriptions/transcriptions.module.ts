import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JobQueueModule } from '../../platform/queue/job-queue.module.js';
import { RecordingsModule } from '../recordings/recordings.module.js';
import { CorrectionsController, TranscriptionsController, VersionsController } from './transcriptions.controller.js';
import { CorrectionsService } from './corrections.service.js';
import { AnnouncedEnginesService } from './engines/announced-engines.service.js';
import { UnservedRecordingsService } from './engines/unserved-recordings.service.js';
import { TranscriptExportsService } from './exports/transcript-exports.service.js';
import { SpeakersController } from './speakers.controller.js';
import { SpeakersService } from './speakers.service.js';
import { EarlierTranscription, Transcription } from './transcription.entity.js';
import { TranscriptionPartial } from './transcription-partial.entity.js';
import { Retranscription } from './retranscription.entity.js';
import { RetranscriptionsService } from './retranscriptions.service.js';
import { TRANSCRIPTION_QUEUE, TranscriptionsListener } from './transcriptions.listener.js';
import { TranscriptionsReconciler } from './transcriptions.reconciler.js';
import { PartialTextsService } from './partial-texts.service.js';
import { TranscriptSignalsService } from './transcript-signals.service.js';
import { TranscriptionsService } from './transcriptions.service.js';

@Module({
  imports: [
    TypeOrmModule.forFeature([Transcription, EarlierTranscription, Retranscription, TranscriptionPartial]),
    JobQueueModule.register(TRANSCRIPTION_QUEUE),
    RecordingsModule,
  ],
  controllers: [TranscriptionsController, CorrectionsController, VersionsController, SpeakersController],
  providers: [
    CorrectionsService,
    PartialTextsService,
    RetranscriptionsService,
    SpeakersService,
    AnnouncedEnginesService,
    TranscriptExportsService,
    TranscriptionsService,
    TranscriptSignalsService,
    TranscriptionsListener,
    TranscriptionsReconciler,
    UnservedRecordingsService,
  ],
  exports: [
    JobQueueModule,
    AnnouncedEnginesService,
    CorrectionsService,
    PartialTextsService,
    TranscriptExportsService,
    TranscriptionsService,
    TranscriptSignalsService,
  ],
})
export class TranscriptionsModule {}
