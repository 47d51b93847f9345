import { type DynamicModule, Module } from '@nestjs/common';
import { RecordingsModule } from '../../recordings/recordings.module.js';
import { EngineRuntimesService } from '../engines/engine-runtimes.service.js';
import { ENGINE_SELECTION, type EngineSelection } from '../engines/engine-registry.js';
import { SpeakerDiarizerService } from '../speakers/speaker-diarizer.service.js';
import { LiveRecognitionService } from '../live/live-recognition.service.js';
import { SpeakerSearchService } from '../speakers/speaker-search.service.js';
import { SpeechDetectionService } from '../speech/speech-detection.service.js';
import { TranscriptionsModule } from '../transcriptions.module.js';
import { TranscriberService, TRANSCRIPT_FILTERS, type TranscriptFilter } from './transcriber.service.js';
import { EngineChainService } from './engine-chain.service.js';
import { TextProgressService } from './text-progress.service.js';
import { TranscriptionRunService } from './transcription-run.service.js';
import { TranscriptionWorkerService } from './transcription-worker.service.js';
import { TranscriptionsProcessor } from './transcriptions.processor.js';
import { WorkerStatusService } from './worker-status.service.js';

/** Loaded only in processes with the role `transcriber`: it owns the engine. */
@Module({})
export class TranscriptionWorkerModule {
  static register(engines: EngineSelection, filters: readonly TranscriptFilter[]): DynamicModule {
    return {
      module: TranscriptionWorkerModule,
      imports: [TranscriptionsModule, RecordingsModule],
      providers: [
        { provide: ENGINE_SELECTION, useValue: engines },
        EngineRuntimesService,
        { provide: TRANSCRIPT_FILTERS, useValue: filters },
        SpeechDetectionService,
        SpeakerDiarizerService,
        SpeakerSearchService,
        TranscriberService,
        EngineChainService,
        TextProgressService,
        TranscriptionRunService,
        TranscriptionWorkerService,
        TranscriptionsProcessor,
        WorkerStatusService,
        LiveRecognitionService,
      ],
      exports: [LiveRecognitionService],
    };
  }
}
