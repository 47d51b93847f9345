import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IntakeService } from './intake.service.js';
import { ProcessingService } from './processing.service.js';
import { Recording } from './recording.entity.js';
import { RecordingsController } from './recordings.controller.js';
import { RecordingsReconciler } from './recordings.reconciler.js';
import { RecordingsService } from './recordings.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Recording])],
  controllers: [RecordingsController],
  providers: [RecordingsService, IntakeService, ProcessingService, RecordingsReconciler],
  exports: [RecordingsService, ProcessingService],
})
export class RecordingsModule {}
