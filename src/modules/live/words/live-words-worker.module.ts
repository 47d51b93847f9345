import { type DynamicModule, Module } from '@nestjs/common';
import { LiveModule } from '../live.module.js';
import { LiveWordsRunService } from './live-words-run.service.js';
import { LiveWordsWorkerService } from './live-words-worker.service.js';

/** Loaded only in processes with the role `transcriber`. */
@Module({})
export class LiveWordsWorkerModule {
  /** @param transcriptionWorker has the engines */
  static register(transcriptionWorker: DynamicModule): DynamicModule {
    return {
      module: LiveWordsWorkerModule,
      imports: [LiveModule, transcriptionWorker],
      providers: [LiveWordsRunService, LiveWordsWorkerService],
    };
  }
}
