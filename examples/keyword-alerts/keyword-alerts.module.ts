import { Module, type OnModuleInit } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { Extension } from '../../src/extension.js';
import { RecordingTranscribed } from '../../src/modules/recordings/recordings.events.js';
import { EventBus } from '../../src/platform/events/event-bus.js';
import { KeywordAlert } from './keyword-alert.entity.js';
import { KeywordAlertsController } from './keyword-alerts.controller.js';
import { CreateKeywordAlerts1763690000000 } from './keyword-alerts.migration.js';
import { KeywordAlertsService } from './keyword-alerts.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([KeywordAlert])],
  controllers: [KeywordAlertsController],
  providers: [KeywordAlertsService],
})
export class KeywordAlertsModule implements OnModuleInit {
  constructor(
    private readonly bus: EventBus,
    private readonly alerts: KeywordAlertsService,
  ) {}

  onModuleInit(): void {
    this.bus.on(RecordingTranscribed, (event, tx) => this.alerts.note(tx, event));
  }
}

/** What stands in `src/extensions.ts`. */
export const keywordAlerts: Extension = { module: KeywordAlertsModule, migrations: [CreateKeywordAlerts1763690000000] };
