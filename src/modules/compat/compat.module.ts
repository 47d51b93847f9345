import { Module } from '@nestjs/common';
import { RecordingsModule } from '../recordings/recordings.module.js';
import { TranscriptionsModule } from '../transcriptions/transcriptions.module.js';
import { AudioTranscriptionsController } from './audio-transcriptions.controller.js';
import { AudioTranscriptionsService } from './audio-transcriptions.service.js';
import { ModelsController } from './models.controller.js';
import { RecordingEndsService } from './recording-ends.service.js';
import { WaitingRequestsService } from './waiting-requests.service.js';

/** Operations in the shape of OpenAI's, for clients that exist (D45). */
@Module({
  imports: [RecordingsModule, TranscriptionsModule],
  controllers: [AudioTranscriptionsController, ModelsController],
  providers: [AudioTranscriptionsService, RecordingEndsService, WaitingRequestsService],
})
export class CompatModule {}
