import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { RecordingsModule } from '../recordings/recordings.module.js';
import { TranscriptionsModule } from '../transcriptions/transcriptions.module.js';
import { AccountExport } from './account-export.entity.js';
import { AccountExportsController } from './account-exports.controller.js';
import { AccountExportsService } from './account-exports.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([AccountExport]), RecordingsModule, TranscriptionsModule],
  controllers: [AccountExportsController],
  providers: [AccountExportsService],
})
export class ArchivesModule {}
