import { Module } from '@nestjs/common';
import { RecordingsModule } from '../recordings/recordings.module.js';
import { TranscriptionsModule } from '../transcriptions/transcriptions.module.js';
import { McpController } from './mcp.controller.js';
import { McpService } from './mcp.service.js';
import { RecordingToolsService } from './recording-tools.service.js';
import { TranscriptionToolsService } from './transcription-tools.service.js';

/** The server for assistants (D84). */
@Module({
  imports: [RecordingsModule, TranscriptionsModule],
  controllers: [McpController],
  providers: [McpService, RecordingToolsService, TranscriptionToolsService],
})
export class McpModule {}
