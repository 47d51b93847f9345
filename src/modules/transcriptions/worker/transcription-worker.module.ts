import { type DynamicModule, Module } from '@nestjs/common';
import type { Env } from '../../../platform/config/env.js';
import { RecordingsModule } from '../../recordings/recordings.module.js';
import { EngineRuntimesService } from '../engines/chain/engine-runtimes.service.js';
import type { EngineSelection } from '../engines/chain/engine-selection.js';
import { SpeechDetectionService } from '../speech/speech-detection.service.js';
import { TranscriptionsModule } from '../transcriptions.module.js';
import { TranscriberService, TRANSCRIPT_FILTERS, type TranscriptFilter } from './transcriber.service.js';
import { EngineChainService } from './engine-chain.service.js';
import { TranscriptionRunService } from './transcription-run.service.js';
import { TranscriptionWorkerService } from './transcription-worker.service.js';
import { TranscriptionsProcessor } from './transcriptions.processor.js';
import { WorkerStatusService } from './worker-status.service.js';

/** Loaded only in processes with the role `transcriber`: it owns the engine. */
@Module({})
export class TranscriptionWorkerModule {
  static register(env: Env, engines: EngineSelection, filters: readonly TranscriptFilter[]): DynamicModule {
    return {
      module: TranscriptionWorkerModule,
      imports: [TranscriptionsModule, RecordingsModule],
      providers: [
        { provide: EngineRuntimesService, useFactory: () => new EngineRuntimesService(env, engines) },
        { provide: TRANSCRIPT_FILTERS, useValue: filters },
        SpeechDetectionService,
        TranscriberService,
        EngineChainService,
        TranscriptionRunService,
        TranscriptionWorkerService,
        TranscriptionsProcessor,
        WorkerStatusService,
      ],
    };
  }
}
