import { BullModule } from '@nestjs/bull';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { RecordingsModule } from '../recordings/recordings.module.js';
import { TRANSCRIPTION_QUEUE, TranscriptionJobsService } from './transcription-jobs.service.js';
import { Transcription } from './transcription.entity.js';
import { TranscriptionsController } from './transcriptions.controller.js';
import { TranscriptionsListener } from './transcriptions.listener.js';
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
