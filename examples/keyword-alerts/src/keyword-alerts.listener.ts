import { Injectable, type OnModuleInit } from '@nestjs/common';
import { EventBus, RecordingTranscribed, type Tx, WebhookEventsService } from 'voice-note-transcription-service';
import { keywordMatchedBody } from './keyword-alert.presenter.js';
import { KeywordAlertsService } from './keyword-alerts.service.js';

@Injectable()
export class KeywordAlertsListener implements OnModuleInit {
  constructor(
    private readonly bus: EventBus,
    private readonly alerts: KeywordAlertsService,
    private readonly events: WebhookEventsService,
  ) {}

  onModuleInit(): void {
    this.bus.on(RecordingTranscribed, (event, tx) => this.onTranscribed(event, tx));
  }

  /** Runs in the transaction in which the recording becomes `transcribed`. */
  private async onTranscribed(event: RecordingTranscribed, tx: Tx): Promise<void> {
    const alerts = await this.alerts.record(tx, event);
    if (alerts.length === 0 || event.rerun === 'quiet') return;
    const { id, accountId } = event.recording;
    await this.events.publish(tx, { accountId, kind: 'keyword.matched', body: keywordMatchedBody(id, alerts) });
  }
}
