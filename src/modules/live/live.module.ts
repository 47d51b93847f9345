import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { RecordingsModule } from '../recordings/recordings.module.js';
import { LiveRecordingRow } from './live-recording.entity.js';
import { LiveRecordingsService } from './live-recordings.service.js';

@Module({
  imports: [RecordingsModule, TypeOrmModule.forFeature([LiveRecordingRow])],
  providers: [LiveRecordingsService],
  exports: [LiveRecordingsService],
})
export class LiveModule {}
