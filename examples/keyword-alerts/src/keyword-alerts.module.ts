import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WebhooksModule } from 'voice-note-transcription-service';
import { KeywordAlert } from './keyword-alert.entity.js';
import { KeywordAlertsController } from './keyword-alerts.controller.js';
import { KeywordAlertsListener } from './keyword-alerts.listener.js';
import { KeywordAlertsService } from './keyword-alerts.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([KeywordAlert]), WebhooksModule],
  controllers: [KeywordAlertsController],
  providers: [KeywordAlertsService, KeywordAlertsListener],
})
export class KeywordAlertsModule {}
