import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { UploadService } from './upload/upload.service.js';
import { RecordingLeasesService } from './leases/recording-leases.service.js';
import { Recording } from './recording.entity.js';
import { RecordingsController } from './recordings.controller.js';
import { RecordingsReconciler } from './recordings.reconciler.js';
import { RecordingsService } from './recordings.service.js';
import { UsageService } from './usage-counters/usage.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Recording])],
  controllers: [RecordingsController],
  providers: [RecordingsService, UsageService, UploadService, RecordingLeasesService, RecordingsReconciler],
  exports: [RecordingsService, UsageService, RecordingLeasesService],
})
export class RecordingsModule {}
