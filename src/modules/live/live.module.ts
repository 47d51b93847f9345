import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { RecordingsModule } from '../recordings/recordings.module.js';
import { LiveRecordingRow } from './live-recording.entity.js';
import { LiveAssemblerService } from './live-assembler.service.js';
import { LiveFilesService } from './live-files.service.js';
import { LiveReconciler } from './live.reconciler.js';
import { LiveMetricsService } from './live-metrics.service.js';
import { LiveRecordingsService } from './live-recordings.service.js';
import { LiveSignalsService } from './live-signals.service.js';

@Module({
  imports: [RecordingsModule, TypeOrmModule.forFeature([LiveRecordingRow])],
  providers: [LiveRecordingsService, LiveSignalsService, LiveMetricsService],
  exports: [LiveRecordingsService, LiveSignalsService],
})
export class LiveModule {}

/** What only a process with the role `deliverer` runs: it stores files, and is no transcriber. */
@Module({
  imports: [LiveModule, RecordingsModule],
  providers: [LiveFilesService, LiveAssemblerService, LiveReconciler],
})
export class LiveAssemblyModule {}
